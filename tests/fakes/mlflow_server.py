# SPDX-License-Identifier: MIT
"""What an MLflow tracking server does with a request, as far as toll's are concerned: the same
answers, the same limits, the same traps. What the real one takes without a word and stores wrongly
is in `corrupted`. Run as a program it serves on the port that is named."""
import base64
import json
import posixpath
import re
import threading
import urllib.parse

KEY = re.compile(r"[/\w.\- :]+", re.ASCII)  # other letters than those of ASCII: not every version
MOST_BYTES = 1000000  # of a batch; some servers look, others trust their clients to
HTML = b"<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>\n"
STATUSES = {"RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"}


class Refused(Exception):
    def __init__(self, status, code, message):
        self.answer = (status, json.dumps({"error_code": code, "message": message}).encode(), {})


def invalid(message):
    return Refused(400, "INVALID_PARAMETER_VALUE", message)


def missing(message):
    return Refused(404, "RESOURCE_DOES_NOT_EXIST", message)


def page():
    """What a request gets that the server stumbles over."""
    refused = Refused(500, "", "")
    refused.answer = (500, HTML, {"Content-Type": "text/html; charset=utf-8"})
    return refused


def check_key(key):
    if not isinstance(key, str) or not key or len(key) > 250 or not KEY.fullmatch(key):
        raise invalid(f"Invalid metric name: {key!r}")
    if posixpath.normpath(key) != key or key.startswith("/") or ".." in key:
        raise invalid(f"Invalid metric name: {key!r}: names may be treated as files")


class Bare(float):
    """NaN or Infinity without quotes."""


class Store:
    """Answers requests of sinklib.Server. trouble: a function of the request that returns an answer
    instead, or None; token, user and password: who may come; hosts: names it is known by."""

    def __init__(self, trouble=None, token=None, user=None, password=None, hosts=None,
                 artifacts="mlflow-artifacts:"):
        self.trouble, self.token, self.user, self.password = trouble, token, user, password
        self.hosts, self.artifacts = hosts, artifacts
        self.experiments = {"Default": "0"}
        self.runs, self.files, self.corrupted, self.seen = {}, {}, [], []
        self._lock = threading.Lock()

    # ---- What tests ask ---------------------------------------------------------------------------

    @property
    def run(self):
        (run,) = self.runs.values()
        return run

    def metrics(self, run=None):
        """{key: [(timestamp, step, value)]}, each in the order of time."""
        found = {}
        for key, timestamp, step, value in sorted((run or self.run)["metrics"], key=str):
            found.setdefault(key, []).append((timestamp, step, value))
        return {key: sorted(points, key=lambda p: (p[0], p[1])) for key, points in found.items()}

    # ---- Answers ----------------------------------------------------------------------------------

    def __call__(self, request):
        with self._lock:
            self.seen.append((request["method"], request["path"]))
            trouble = self.trouble(request) if self.trouble else None
            if trouble is not None and trouble != "taken":
                return trouble
            try:
                self.check_who(request["headers"])
                body = json.dumps(self.answer(request)).encode()
            except Refused as e:
                return e.answer
            if trouble == "taken":
                return "close"  # it did what it was asked to, and nobody is told
            return 200, body, {"Content-Type": "application/json"}

    def check_who(self, headers):
        given = headers.get("Authorization", "")
        if self.hosts and headers.get("Host", "").split(":")[0] not in self.hosts:
            raise Refused(403, "PERMISSION_DENIED", "Invalid Host header")
        if self.user:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            if given != "Basic " + pair:
                raise Refused(401, "UNAUTHENTICATED", "You are not authenticated")
        if self.token and given != "Bearer " + self.token:
            raise Refused(401, "UNAUTHENTICATED", "You are not authenticated")

    def answer(self, request):
        path, _, query = request["path"].partition("?")
        method, headers = request["method"], request["headers"]
        artifacts = "/api/2.0/mlflow-artifacts/artifacts/"
        if method == "PUT" and path.startswith(artifacts):
            return self.put_file(path[len(artifacts):], request["body"])
        if not path.startswith("/api/2.0/mlflow/"):
            raise Refused(404, "ENDPOINT_NOT_FOUND", path)
        what = path[len("/api/2.0/mlflow/"):]
        arguments = dict(urllib.parse.parse_qsl(query, strict_parsing=True)) if query else {}
        if method == "POST":
            if headers.get("Content-Type") != "application/json":
                raise invalid("Bad Request. Content-Type should be application/json.")
            try:
                if headers.get("Content-Encoding"):
                    raise ValueError
                arguments = json.loads(request["body"].decode(), parse_constant=Bare)
            except ValueError:
                raise page()
            if what == "runs/log-batch" and len(request["body"]) > MOST_BYTES:
                raise invalid(f"Batched logging API requests must be at most {MOST_BYTES} bytes")
        handlers = {
            ("GET", "experiments/get-by-name"): self.get_experiment,
            ("POST", "experiments/create"): self.create_experiment,
            ("POST", "runs/create"): self.create_run,
            ("GET", "runs/get"): lambda a: {"run": self.show(self.find(a))},
            ("POST", "runs/search"): self.search,
            ("POST", "runs/log-batch"): self.log_batch,
            ("POST", "runs/update"): self.update,
            ("GET", "metrics/get-history"): self.history,
        }
        if (method, what) not in handlers:
            raise Refused(404, "ENDPOINT_NOT_FOUND", what)
        return handlers[method, what](arguments)

    def get_experiment(self, a):
        name = a["experiment_name"]
        if name not in self.experiments:
            raise missing(f"Could not find experiment with name '{name}'")
        return {"experiment": {"experiment_id": self.experiments[name], "name": name,
                               "lifecycle_stage": "active"}}

    def create_experiment(self, a):
        if not a.get("name") or len(a["name"]) > 500:
            raise invalid("Invalid experiment name")
        if a["name"] in self.experiments:
            raise Refused(400, "RESOURCE_ALREADY_EXISTS", "Experiment already exists")
        self.experiments[a["name"]] = str(len(self.experiments))
        return {"experiment_id": self.experiments[a["name"]]}

    def show(self, run):
        return {"info": {"run_uuid": run["run_id"], "experiment_id": run["experiment_id"],
                         "run_name": run["name"], "status": run["status"],
                         "artifact_uri": run["artifact_uri"], "run_id": run["run_id"],
                         "lifecycle_stage": run["stage"]},
                "data": {"metrics": [
                             {"key": k, "value": points[-1][2], "timestamp": points[-1][0],
                              "step": points[-1][1]} for k, points in self.metrics(run).items()],
                         "tags": [{"key": k, "value": v} for k, v in run["tags"].items()]}}

    def create_run(self, a):
        if a["experiment_id"] not in self.experiments.values():
            raise missing(f"No Experiment with id={a['experiment_id']} exists")
        run_id = f"{len(self.runs) + 1:032x}"
        run = {"run_id": run_id, "experiment_id": a["experiment_id"], "name": a.get("run_name", ""),
               "status": "RUNNING", "start_time": a.get("start_time"), "end_time": None,
               "artifact_uri": f"{self.artifacts}/{a['experiment_id']}/{run_id}/artifacts",
               "metrics": set(), "tags": {}, "params": {}, "stage": "active"}
        self.integer(a.get("start_time"), "start_time")
        tags = {tag["key"]: tag["value"] for tag in a.get("tags", [])}
        if tags.get("mlflow.runName", run["name"]) != run["name"]:
            raise invalid("Both 'run_name' argument and 'mlflow.runName' tag are specified, but with "
                          "different values")
        if len(run["name"]) > 250:
            raise page()  # what the database says to it
        self.set_tags(run, a.get("tags", []))
        self.runs[run_id] = run
        return {"run": self.show(run)}

    def find(self, a):
        if "run_id" not in a:
            raise invalid("Missing value for required parameter 'run_id'.")
        if a["run_id"] not in self.runs:
            raise missing(f"Run with id={a['run_id']} not found")
        return self.runs[a["run_id"]]

    def find_active(self, a):
        """One that has ended takes more all the same, one that was deleted does not."""
        run = self.find(a)
        if run["stage"] != "active":
            raise invalid(f"The run {run['run_id']} must be in the 'active' state. "
                          f"Current state is {run['stage']}.")
        return run

    def search(self, a):
        match = re.fullmatch(r"tags\.`([\w.]+)` = '([\w-]+)'", a["filter"])
        if not match:
            raise invalid("Invalid clause(s) in filter string")
        runs = [r for r in self.runs.values() if r["experiment_id"] in a["experiment_ids"]
                and r["tags"].get(match[1]) == match[2]]
        return {"runs": [self.show(r) for r in runs[:a.get("max_results", 1000)]]} if runs else {}

    def integer(self, value, what):
        if not isinstance(value, int) or isinstance(value, bool):
            self.corrupted.append(f"{what} is {value!r}")
            return 0
        return value

    def set_tags(self, run, tags):
        if len(tags) > 100:
            raise invalid("A batch logging request can contain at most 100 tags.")
        for tag in tags:
            check_key(tag["key"])
            if len(tag["value"]) > 5000:
                raise invalid("Tag value exceeds the limit")
        run["tags"].update({tag["key"]: tag["value"] for tag in tags})

    def value(self, value):
        if value is None:
            raise invalid("Missing value for required parameter 'value'.")
        if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
            return value
        if isinstance(value, Bare) or isinstance(value, bool) or not isinstance(value, (int, float)):
            self.corrupted.append(f"value is {value!r}")
            return 0.0
        return float(value)

    def set_params(self, run, params):
        """Each once and for all."""
        given = {p["key"]: p["value"] for p in params}
        if len(given) < len(params):
            raise invalid("Duplicate parameter keys have been submitted")
        for key, value in given.items():
            check_key(key)
            if len(value) > 6000:
                raise invalid("Param value exceeds the limit")
            if run["params"].get(key, value) != value:
                raise invalid("Changing param values is not allowed.")
        run["params"].update(given)

    def log_batch(self, a):
        run = self.find_active(a)
        metrics, params = a.get("metrics", []), a.get("params", [])
        if len(metrics) > 1000:
            raise invalid("A batch logging request can contain at most 1000 metrics.")
        if len(params) > 100:
            raise invalid("A batch logging request can contain at most 100 params.")
        if len(metrics) + len(params) + len(a.get("tags", [])) > 1000:
            raise invalid("A batch logging request can contain at most 1000 metrics, params, tags.")
        rows = set()
        for m in metrics:
            check_key(m.get("key"))
            if m.get("timestamp") is None:
                raise invalid("Missing value for required parameter 'timestamp'.")
            if isinstance(m["timestamp"], int) and m["timestamp"] < 0:
                raise invalid("Timestamp must be a nonnegative long (64-bit integer)")
            rows.add((m["key"], self.integer(m["timestamp"], "timestamp"),
                      self.integer(m.get("step", 0), "step"), self.value(m.get("value"))))
        self.set_params(run, params)
        self.set_tags(run, a.get("tags", []))
        run["metrics"] |= rows
        return {}

    def update(self, a):
        run = self.find_active(a)
        if a.get("status") not in STATUSES:
            raise invalid("Invalid status")
        run["status"] = a["status"]
        run["end_time"] = self.integer(a.get("end_time"), "end_time")
        return {"run_info": self.show(run)["info"]}

    def history(self, a):
        points = self.metrics(self.find(a)).get(a["metric_key"], [])
        return {"metrics": [{"key": a["metric_key"], "timestamp": t, "step": s, "value": v}
                            for t, s, v in points]}

    def put_file(self, path, body):
        experiment, run_id, word, name = urllib.parse.unquote(path).split("/", 3)
        run = self.find({"run_id": run_id})
        if run["experiment_id"] != experiment or word != "artifacts" or ".." in name:
            raise invalid("Invalid path")
        self.files[run_id, name] = body
        return {}


if __name__ == "__main__":
    import pathlib
    import sys
    import time
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "live"))
    import sinklib
    store = Store()
    with sinklib.Server(store, port=int(sys.argv[1]) if sys.argv[1:] else 5000) as server:
        print(server.url, flush=True)
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            for run in store.runs.values():
                print(run["run_id"], run["name"], run["status"], len(run["metrics"]), run["tags"])
