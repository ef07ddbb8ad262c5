// SPDX-License-Identifier: MIT
// The script of a report: puts charts that can be zoomed in the place of the pictures. It reads the
// points that script.c has written into the page, and nothing else: no request leaves the page.
// ASCII only, and comments on lines of their own: tools/embed-script leaves them out.
"use strict";

(() => {
    // ---- Numbers ----------------------------------------------------------------------------

    const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const valueOf = new Uint8Array(128);
    for (let i = 0; i < 64; i++)
        valueOf[DIGITS.charCodeAt(i)] = i;

    // Numbers of a string as script.c writes them. No shifts: these may have more than 32 bits.
    const reader = text => {
        let at = 0;
        const next = () => {
            let number = 0, power = 1, digit;
            do {
                digit = valueOf[text.charCodeAt(at++)];
                number += (digit & 31) * power;
                power *= 32;
            } while (digit & 32 && at < text.length);
            return number;
        };
        const signed = () => {
            const number = next();
            return number % 2 ? -(number - 1) / 2 : number / 2;
        };
        return {next, signed, more: () => at < text.length};
    };

    const readTimes = (text, unit) => {
        const from = reader(text), at = [], gaps = [], widths = [];
        let now = 0, distance = 0;
        while (from.more()) {
            const number = from.signed();
            distance += Math.floor(number / 2);
            now += distance;
            gaps.push(number % 2 != 0);
            widths.push(number % 2 ? from.next() * unit : 0);
            at.push(now * unit);
        }
        return {at, gaps, widths};
    };

    // The columns of a series: times, means and, where a point holds several samples, the smallest
    // and the largest. A null between two points is a gap.
    const readSeries = (series, times) => {
        const from = reader(series.values), isMerged = series.merged > 1, scale = series.scale;
        const columns = isMerged ? [[], [], [], []] : [[], []];
        let mean = 0;
        for (let i = 0; i < times.at.length && from.more(); i++) {
            const isGap = i && times.gaps[i], begin = times.at[i] - times.widths[i];
            if (isGap) {
                columns[0].push((times.at[i - 1] + begin) / 2);
                columns.slice(1).forEach(column => column.push(null));
            }
            mean += from.signed();
            const values = [times.at[i], mean * scale];
            if (isMerged)
                values.push((mean - from.next()) * scale, (mean + from.next()) * scale);
            // A point stands for the time since the one before it; the first has none, and one after
            // a gap has its own, unless it is alone: then a dot is easier to see.
            const start = i ? begin : series.from;
            if (start < times.at[i] && (!i || isGap && i + 1 < times.at.length && !times.gaps[i + 1]))
                columns.forEach((column, k) => column.push(k ? values[k] : start));
            columns.forEach((column, k) => column.push(values[k]));
        }
        return columns;
    };

    // ---- Words ------------------------------------------------------------------------------

    const three = value => value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
    const scaled = (value, step, units) => {
        let unit = 0;
        while (value >= step - 0.5 && unit + 1 < units.length) {
            value /= step;
            unit++;
        }
        return (unit || units[0] != " B" ? three(value) : value.toFixed(0)) + units[unit];
    };
    const bytes = value => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]);
    const count = value => value < 1000 && value % 1 ? three(value)
        : Math.round(value).toLocaleString("en");
    const thousands = (value, unit) => scaled(value, 1000, ["", "k", "M", "G", "T"].map(
        prefix => " " + prefix + unit));
    // As words.c writes them; the names are those of script.c.
    const WORDS = {
        "bytes": bytes,
        "bytes/s": value => bytes(value) + "/s",
        "count": count,
        "count/s": value => count(value) + "/s",
        "cores": value => value.toFixed(2),
        "number": value => value.toFixed(2),
        "ratio": value => three(value * 100) + " %",
        "share": value => (value * 100).toFixed(value < 0.0995 ? 1 : 0) + " %",
        "celsius": value => value.toFixed(1) + " \u00b0C",
        "seconds": value => time(value, 0.001),
    };
    const words = (unit, value) => (WORDS[unit] || (number => thousands(number, unit)))(value);

    // On an axis: "2 GiB", not "2.00 GiB".
    const tick = (unit, value) => value == 0 ? "0"
        : words(unit, value).replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");

    // A time since the start of the run, down to the given step.
    const time = (seconds, step) => {
        const decimals = step < 1 ? Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)) : 0;
        if (seconds < 60)
            return seconds.toFixed(decimals) + " s";
        const whole = Number(seconds.toFixed(decimals));
        const pad = number => String(number).padStart(2, "0");
        const d = Math.floor(whole / 86400), h = Math.floor(whole / 3600) % 24;
        const m = Math.floor(whole / 60) % 60, s = whole % 60;
        const rest = s.toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
        const parts = [];
        if (d)
            parts.push(d + "d");
        if (d || h)
            parts.push((d ? pad(h) : h) + "h");
        if (step < 3600)
            parts.push((d || h ? pad(m) : m) + "m");
        if (step < 60)
            parts.push(rest + "s");
        return parts.join(" ");
    };

    const powers = (steps, base, from, until) => {
        const all = [];
        for (let power = from; power <= until; power *= base)
            all.push(...steps.map(step => step * power));
        return all;
    };
    const TIME_STEPS = [...powers([1, 2, 5], 10, 1e-6, 0.1), 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
        900, 1800, 3600, 7200, 10800, 21600, 43200, ...powers([1, 2, 7, 14], 10, 86400, 1e10)];
    const BYTE_STEPS = powers([1], 2, 1, 2 ** 60);
    const COUNT_STEPS = powers([1, 2, 5], 10, 1, 1e18);
    // Cores are written with two decimals.
    const CORE_STEPS = powers([1, 2, 5], 10, 0.01, 1e6);
    const STEPS = powers([1, 2, 5], 10, 1e-6, 1e18);
    const valueSteps = unit => unit.startsWith("bytes") ? BYTE_STEPS
        : unit == "count" ? COUNT_STEPS : unit == "cores" ? CORE_STEPS : STEPS;

    // ---- Elements ---------------------------------------------------------------------------

    // Text is always set as text: names come from outside.
    const make = (tag, className, text) => {
        const element = document.createElement(tag);
        element.className = className || "";
        element.textContent = text || "";
        return element;
    };

    let style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue("--" + name).trim();

    // ---- One chart --------------------------------------------------------------------------

    const FONT = "12px system-ui,sans-serif";

    // Phases as bands and events as lines, below the curves.
    const drawMarks = (u, run) => {
        const {ctx, bbox} = u, x = value => u.valToPos(value, "x", true);
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        run.phases.forEach(([, from, until, number]) => {
            ctx.globalAlpha = 0.07;
            ctx.fillStyle = colour(["c1", "c5", "c2"][number]);
            ctx.fillRect(x(from), bbox.top, Math.max(x(until) - x(from), 1), bbox.height);
        });
        ctx.globalAlpha = 1;
        ctx.strokeStyle = colour("c3");
        ctx.lineWidth = devicePixelRatio;
        ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
        run.events.forEach(([, at]) => {
            ctx.beginPath();
            ctx.moveTo(x(at), bbox.top);
            ctx.lineTo(x(at), bbox.top + bbox.height);
            ctx.stroke();
        });
        ctx.restore();
    };

    // The limit as a line, its name above the plot, and where the largest value was.
    const drawLimit = (u, chart) => {
        const {ctx, bbox} = u;
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = colour("bad");
        // A limit that is far away is no reason for alarm.
        if (chart.limit && chart.limit[1] > u.scales.y.max)
            ctx.fillStyle = colour("dim");
        if (chart.limit) {
            const [name, limit] = chart.limit, fits = limit <= u.scales.y.max;
            const y = u.valToPos(limit, "y", true);
            const text = name + ": " + words(chart.unit, limit)
                + (chart.unit == "cores" ? " cores" : "") + (fits ? "" : " (above this chart)");
            if (fits) {
                ctx.lineWidth = 1.2 * devicePixelRatio;
                ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
                ctx.beginPath();
                ctx.moveTo(bbox.left, y);
                ctx.lineTo(bbox.left + bbox.width, y);
                ctx.stroke();
            }
            ctx.font = FONT.replace("12", 12 * devicePixelRatio);
            ctx.textAlign = "right";
            ctx.textBaseline = "bottom";
            ctx.fillText(text, bbox.left + bbox.width, bbox.top - 3 * devicePixelRatio);
        }
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        if (chart.peak) {
            ctx.fillStyle = colour("bad");
            ctx.setLineDash([]);
            ctx.beginPath();
            ctx.arc(u.valToPos(chart.peak[0], "x", true), u.valToPos(chart.peak[1], "y", true),
                4 * devicePixelRatio, 0, 2 * Math.PI);
            ctx.fill();
        }
        ctx.restore();
    };

    // A value between two gaps has no line: a point shows it. An expensive figure, which is not in
    // every sample, has only such: what it was in between is unknown.
    const isolated = (u, column) => {
        const values = u.data[column], [from, until] = u.series[0].idxs, alone = [];
        const neighbour = (i, step) => {
            while (values[i += step] === undefined && i >= 0 && i < values.length);
            return values[i];
        };
        for (let i = from; i <= until; i++)
            if (values[i] != null && neighbour(i, -1) == null && neighbour(i, 1) == null)
                alone.push(i);
        return alone.length ? alone : null;
    };

    // Series side by side: a gap of one has all the times that others have in it, up to the sample
    // before its next value. Elsewhere a time of others means nothing.
    const join = tables => {
        const data = uPlot.join(tables);
        data.slice(1).forEach(values => {
            for (let i = 0; i < values.length; i++) {
                if (values[i] !== null)
                    continue;
                for (let k = i - 1; k >= 0 && values[k] === undefined; k--)
                    values[k] = null;
                while (i + 1 < values.length && values[i + 1] === undefined)
                    values[++i] = null;
            }
        });
        return data;
    };

    // Where several points share a pixel, a line through all of them would be a block. Then the line is
    // their mean and a band their range, as in the pictures.
    const isDense = self => {
        const [from, until] = self.series[0].idxs;
        return until - from > 2 * self.bbox.width / devicePixelRatio;
    };

    // Stretches without a gap, each with the mean, least and most of its pixels. A value stands for the
    // time since the one before it.
    const condense = (self, column, isMerged) => {
        const xs = self.data[0], values = self.data[column], [from, until] = self.series[0].idxs;
        const lows = self.data[column + isMerged], highs = self.data[column + 2 * isMerged];
        const stretches = [];
        let stretch = null, last = null, before = xs[Math.max(from - 1, 0)];
        for (let i = from; i <= until; i++) {
            const value = values[i];
            if (value === null)
                stretch = last = null;
            if (value == null)
                continue;
            const at = Math.floor(self.valToPos(xs[i], "x", true) / devicePixelRatio);
            const time = Math.max(xs[i] - before, 1e-9);
            before = xs[i];
            if (!stretch)
                stretches.push(stretch = []);
            if (!last || last.at != at)
                stretch.push(last = {at, sum: 0, time: 0, low: lows[i], high: highs[i]});
            last.sum += value * time;
            last.time += time;
            last.low = Math.min(last.low, lows[i]);
            last.high = Math.max(last.high, highs[i]);
        }
        return stretches;
    };

    // The line and the area of the means, and the band, as paths.
    const densePaths = (self, column, isMerged) => {
        const stroke = new Path2D(), fill = new Path2D(), range = new Path2D();
        const y = value => self.valToPos(value, "y", true), zero = y(0);
        const x = one => (one.at + 0.5) * devicePixelRatio, half = devicePixelRatio / 2;
        condense(self, column, isMerged).forEach(stretch => {
            stretch.forEach((one, i) => {
                const mean = y(one.sum / one.time), low = y(one.low) + half, high = y(one.high) - half;
                stroke[i ? "lineTo" : "moveTo"](x(one), mean);
                fill[i ? "lineTo" : "moveTo"](x(one), mean);
                range.rect(x(one) - half, high, 2 * half, low - high);
            });
            fill.lineTo(x(stretch[stretch.length - 1]), zero);
            fill.lineTo(x(stretch[0]), zero);
            fill.closePath();
        });
        return {stroke, fill, range, clip: null, band: null, gaps: null, flags: 1};
    };

    const drawRanges = (self, shown) => {
        const {ctx, bbox} = self;
        if (!isDense(self))
            return;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        shown.forEach(({one, at}) => {
            const paths = self.series[at]._paths; // none where nothing is known
            ctx.fillStyle = colour("c" + one.colour) + "40";
            if (paths)
                ctx.fill(paths.range);
        });
        ctx.restore();
    };

    // Adds the chart to its figure. `group` is what all charts of a run have in common.
    const makeChart = (figure, chart, run, group) => {
        const svg = figure.querySelector("svg.chart"), head = figure.querySelector(".head");
        const place = make("div", "plot");
        const readout = make("p", "readout");
        const tables = [], series = [{}], bands = [], shown = [];
        // The first is the one that matters: on top, so it is drawn last.
        [...chart.series].reverse().forEach(one => {
            const columns = readSeries(one, group.times[one.time]), at = series.length;
            const stroke = () => colour("c" + one.colour);
            tables.push(columns);
            const isMerged = columns.length > 2;
            // A sample stands for the time since the one before it, as in the pictures. Where two
            // share a pixel that does not show, and a line is drawn much faster.
            const line = uPlot.paths.linear(), steps = uPlot.paths.stepped({align: -1});
            const paths = (self, column, from, until) => isDense(self)
                ? densePaths(self, column, isMerged)
                : (isMerged || until - from > self.bbox.width ? line : steps)(self, column, from, until);
            // The first has an area, as in the pictures.
            const fill = one === chart.series[0] ? () => colour("c" + one.colour) + "17" : null;
            series.push({label: one.name, stroke, width: 1.6, paths, fill,
                points: {show: false, filter: isolated, fill: stroke, size: 6}});
            if (isMerged) {
                const edge = {label: "", width: 0, points: {show: false}};
                series.push({...edge}, {...edge});
                bands.push({series: [at + 2, at + 1],
                    fill: self => isDense(self) ? "transparent" : colour("c" + one.colour) + "38"});
            }
            shown.unshift({one, at, isMerged});
        });
        const top = max => {
            const limit = chart.limit ? chart.limit[1] : 0;
            const most = limit > max && limit < 2 * max ? limit * 1.02 : max > 0 ? max * 1.05 : 1;
            // Room for a number on the axis.
            return chart.unit == "cores" ? Math.max(most, 0.0105) : most;
        };
        const u = new uPlot({
            width: figure.clientWidth, height: 240, padding: [chart.limit ? 20 : 12, 26, 0, 0],
            legend: {show: false},
            series, bands,
            scales: {
                x: {time: false, range: () => [group.view.min, group.view.max]},
                y: {range: (_, min, max) => [0, top(max)]},
            },
            axes: [{
                stroke: () => colour("dim"), font: FONT, incrs: TIME_STEPS, size: 28, space: 80,
                grid: {stroke: () => colour("grid"), width: 1}, ticks: {show: false},
                values: (_, splits, axis, space, step) => splits.map(
                    at => at ? time(at, step) : "0"),
            }, {
                stroke: () => colour("dim"), font: FONT, incrs: valueSteps(chart.unit), space: 36,
                grid: {stroke: () => colour("grid"), width: 1}, ticks: {show: false},
                values: (_, splits) => splits.map(value => tick(chart.unit, value)),
                size: 78,
            }],
            cursor: {
                y: false, drag: {x: true, y: false, setScale: false},
                points: {show: (self, column) => self.series[column].width > 0
                    && cursorPoint(self.series[column])},
                sync: {key: group.key, scales: ["x", null], filters: {
                    pub: type => type == "mousemove" || type == "mouseleave"}},
                bind: {dblclick: () => () => group.show(0, run.seconds)},
            },
            hooks: {
                drawClear: [self => drawMarks(self, run)],
                draw: [self => drawRanges(self, shown), self => drawLimit(self, chart)],
                setCursor: [self => describe(self)],
                setSelect: [self => {
                    const {left, width} = self.select;
                    if (width < 4)
                        return;
                    self.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
                    group.show(self.posToVal(left, "x"), self.posToVal(left + width, "x"));
                }],
            },
        }, tables.length > 1 ? join(tables) : tables[0], place);

        // The values at the cursor, in words.
        const describe = self => {
            const i = self.cursor.idx, at = i == null ? null : self.data[0][i];
            if (at == null || self.cursor.left < 0) {
                readout.replaceChildren();
                head.classList.remove("active");
                return "";
            }
            const step = (group.view.max - group.view.min) / 1000;
            const parts = [make("b", "", "at " + time(at, Math.max(step, run.unit)))];
            shown.forEach(({one, at: column, isMerged}) => {
                const k = self.cursor.idxs[column], value = k == null ? null : self.data[column][k];
                const part = make("span"), swatch = make("i");
                swatch.style.background = "var(--c" + one.colour + ")";
                part.append(swatch, (chart.series.length > 1 ? one.name.split(/[,:] /)[0] + " " : ""),
                    make("b", "", value == null ? "unknown" : words(chart.unit, value)));
                if (isMerged && value != null)
                    part.append(" (" + words(chart.unit, self.data[column + 1][k]) + " to "
                        + words(chart.unit, self.data[column + 2][k]) + ")");
                parts.push(part);
            });
            const here = self.posToVal(self.cursor.left, "x");
            const reach = self.posToVal(4, "x") - self.posToVal(0, "x");
            run.phases.filter(([, from, until]) => from <= here && here <= until).slice(0, 3)
                .forEach(([name]) => parts.push(make("span", "", "phase " + name)));
            run.events.filter(([, when]) => Math.abs(when - here) <= reach).slice(0, 3)
                .forEach(([name]) => parts.push(make("span", "", "event " + name)));
            readout.replaceChildren(...parts);
            head.classList.add("active");
            // A line more must not move the page under the pointer.
            const height = readout.offsetHeight + "px";
            if (parseFloat(readout.style.minHeight || 0) < parseFloat(height))
                readout.style.minHeight = height;
            return parts.map(part => part.textContent).join(", ");
        };

        place.tabIndex = 0;
        place.setAttribute("role", "group");
        place.setAttribute("aria-label", svg.getAttribute("aria-label"));
        place.setAttribute("aria-describedby", group.help.id);
        place.addEventListener("keydown", event => {
            const xs = u.data[0], now = u.cursor.idx, [from, until] = u.series[0].idxs;
            const far = Math.max(1, Math.round((until - from) / 20));
            const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -far, PageDown: far}[event.key];
            if (by || event.key == "Home" || event.key == "End") {
                const i = event.key == "Home" ? from : event.key == "End" ? until
                    : now == null ? Math.round((from + until) / 2) : now + by;
                const left = u.valToPos(xs[Math.min(until, Math.max(from, i))], "x");
                u.setCursor({left, top: 0}, true, true);
                group.live.textContent = describe(u);
            } else if (event.key == "+" || event.key == "=")
                group.zoom(0.5);
            else if (event.key == "-")
                group.zoom(2);
            else if (event.key == "Escape" || event.key == "0")
                group.show(0, run.seconds);
            else
                return;
            event.preventDefault();
        });
        describe(u);
        // The values at the cursor take the place of the legend, so that nothing moves.
        head.append(readout);
        svg.parentNode.after(place);
        svg.parentNode.classList.add("replaced");
        // The plot follows the width of the page.
        const fit = () => {
            const width = figure.clientWidth;
            if (width)
                u.setSize({width, height: width < 600 ? 200 : 240});
        };
        fit();
        new ResizeObserver(() => figure.clientWidth != u.width && fit()).observe(figure);
        return u;
    };

    const cursorPoint = series => {
        const point = make("div");
        point.style.width = point.style.height = "7px";
        point.style.margin = "-3.5px 0 0 -3.5px";
        point.style.background = series.stroke();
        return point;
    };

    // ---- One run: its charts have the same part of the time, and one cursor -----------------

    const makeGroup = (section, number) => {
        const run = JSON.parse(section.querySelector("script.data").textContent);
        const figures = [...section.querySelectorAll("figure")];
        const bar = make("div", "zoom"), help = make("p", "legend");
        const live = make("p", "aloud");
        const least = run.seconds / 1e5;
        help.id = "zoom-help-" + number;
        help.textContent = "Drag over a chart to zoom, double-click for the whole run. Keys in a chart: "
            + "arrows move the cursor, + and - zoom, Escape shows the whole run.";
        live.setAttribute("aria-live", "polite");
        const group = {
            key: "run-" + number, help, live, charts: [],
            view: {min: 0, max: run.seconds},
            times: run.times.map(text => readTimes(text, run.unit)),
            show: (from, until) => {
                const min = Math.max(0, Math.min(from, run.seconds - least));
                const max = Math.min(run.seconds, Math.max(until, min + least));
                group.view = {min, max};
                group.charts.forEach(u => u.setScale("x", {min, max}));
                whole.disabled = out.disabled = min <= 0 && max >= run.seconds;
            },
            // Around the cursor, or the middle.
            zoom: factor => {
                const {min, max} = group.view;
                const first = group.charts[0], i = first.cursor.idx;
                const at = i == null ? (min + max) / 2 : first.data[0][i];
                const middle = at < min || at > max ? (min + max) / 2 : at;
                group.show(middle - (middle - min) * factor, middle + (max - middle) * factor);
            },
        };
        const button = (text, action) => {
            const made = make("button", "", text);
            made.type = "button";
            made.addEventListener("click", action);
            bar.append(made);
            return made;
        };
        button("Zoom in", () => group.zoom(0.5));
        const out = button("Zoom out", () => group.zoom(2));
        const whole = button("Whole run", () => group.show(0, run.seconds));
        whole.disabled = out.disabled = true;
        bar.append(help, live);
        section.querySelector("h2").after(bar);
        run.charts.forEach((chart, i) => group.charts.push(makeChart(figures[i], chart, run, group)));

        const merged = Math.max(...run.charts.flatMap(c => c.series.map(s => s.merged)));
        const note = section.querySelector(".thinned");
        const text = merged > 1
            ? "A point stands for " + merged + " samples or fewer: the line is their mean, the band "
                + "reaches from the smallest to the largest, and no sampled peak is lost. "
            : group.charts.some(isDense)
            ? "Every sample is a point. Where several share a pixel, the line is their mean, and the band "
                + "reaches from the smallest to the largest. "
            : "Every sample is a point. ";
        note.after(make("p", "legend", text + "What happened between two samples is unknown."));
        note.classList.add("replaced");
        return group;
    };

    const groups = [...document.querySelectorAll("section.charts")].map(makeGroup);

    matchMedia("(prefers-color-scheme:dark)").addEventListener("change", () => {
        style = getComputedStyle(document.documentElement);
        groups.forEach(group => group.charts.forEach(u => u.redraw(true)));
    });

    // For tests, which have no other way to see what is on a canvas.
    window.tollCharts = groups.map(group => group.charts);
})();
