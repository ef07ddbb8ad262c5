# SPDX-License-Identifier: MIT
"""The callbacks of examples/python under `toll run`, in the loops of stand-ins for the frameworks.

None of the frameworks is in Debian. Their stand-ins (frameworks/) have the names, the arguments and the
order of the calls from the documentation of each."""

import importlib
import inspect
import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest
import toll
from conftest import PACKAGE

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/python"
FRAMEWORKS = pathlib.Path(__file__).resolve().parent / "frameworks"
WORK_SECONDS = 0.01  # of CPU time, each time something would be computed

COMMON = f'''
import time
import toll

class Model:
    left = 10**9  # calls until one fails
    def work(self):
        Model.left -= 1
        if Model.left < 0:
            raise KeyError("as a training fails")
        end = time.thread_time() + {WORK_SECONDS}
        while time.thread_time() < end:
            pass

model = Model()
'''
JOBS = {
    "lightning": '''
from lightning.pytorch import Trainer
from lightning_callback import TollCallback
trainer = Trainer(callbacks=[TollCallback(steps=True)])
trainer.fit(model)
trainer.test(model)
trainer.predict(model)
Model.left = 6  # the sanity check, an epoch, a step of the next
try:
    Trainer(callbacks=[TollCallback()]).fit(model)
except KeyError:
    toll.event("failed")
''',
    "huggingface": '''
from transformers import Trainer
from huggingface_callback import TollCallback
trainer = Trainer(model, [TollCallback(steps=True)])
trainer.train()
trainer.evaluate()
trainer.predict()
callback = TollCallback()
Model.left = 2
try:
    Trainer(model, [callback]).train()
except KeyError:
    toll.event("failed")
Model.left = 10**9
Trainer(model, [callback], epochs=1).train()
''',
    "keras": '''
import keras
from keras_callback import TollCallback, TollStepsCallback
m = keras.Model(model.work)
m.fit([TollStepsCallback()])
m.evaluate([TollCallback()])
m.predict([TollCallback()])
callback = TollCallback()
Model.left = 2
try:
    m.fit([callback])
except KeyError:
    toll.event("failed")
Model.left = 10**9
m.fit([callback], epochs=1)
''',
}
# Of each phase how often it began, and how often something was computed in it. One training fails:
# Lightning reports that, of the others the next training ends the phases. That of the Trainer fails while
# it saves.
PHASES = {
    "lightning": {"fit": (2, 2 + 8 + 4 + 1), "sanity check": (2, 2), "epoch": (4, 8 + 4 + 1), "step": (6, 6),
                  "validation": (3, 3), "test": (1, 1), "predict": (1, 1)},
    "huggingface": {"train": (3, 6 + 3 + 4 + 2 + 2 + 3 + 1 + 2 + 1), "epoch": (4, 6 + 3 + 2 + 3 + 1), "step": (6, 6),
                    "evaluate": (5, 4 + 1 + 0 + 2), "save": (8, 5 + 2)},
    "keras": {"train": (3, 10 + 2 + 5), "epoch": (4, 10 + 2 + 5), "step": (6, 6), "validation": (3, 6),
              "evaluate": (1, 2), "predict": (1, 1)},
}
GAUGES = {
    "lightning": {"train_loss": 0.5, "val_loss": 0.25, "test_acc": 0.75},
    "huggingface": {"loss": 0.5, "learning_rate": 1e-05, "eval_loss": 0.25, "epoch": 1, "train_runtime": 1.5},
    "keras": {"loss": 0.5, "val_loss": 0.25},
}


def run(script, directory, *before):
    path = f"{PACKAGE}:{EXAMPLES}:{FRAMEWORKS}"
    done = subprocess.run([*before, sys.executable, "-B", "-c", COMMON + script], cwd=directory,
                          env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", JOBS)
def test_phases_and_gauges_are_in_the_record(name, tmp_path):
    record = tmp_path / "run.jsonl"
    run(JOBS[name], tmp_path, os.environ["TOLL"], "run", "-q", "--summary-to", tmp_path / "summary.json",
        "-o", record, "--")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {p["name"]: (p["count"], p["not_ended_count"]) for p in summary["phases"]} == {
        phase: (count, 0) for phase, (count, _) in PHASES[name].items()}
    for phase in summary["phases"]:
        computed = PHASES[name][phase["name"]][1]
        assert phase["total_seconds"] >= computed * WORK_SECONDS, phase["name"]
    seconds = {p["name"]: p["total_seconds"] for p in summary["phases"]}
    whole = "fit" if name == "lightning" else "train"
    assert seconds["step"] <= seconds["epoch"] <= seconds[whole] <= summary["wall_seconds"]
    assert {g["name"]: g["last"] for g in summary["gauges"]} == GAUGES[name]
    events = [line["name"] for line in toll.read_record(record) if line["type"] == "event" and "name" in line]
    assert events.count("failed") == 1
    assert events.count("checkpoint") == {"lightning": 3, "huggingface": 7, "keras": 0}[name]


@pytest.mark.parametrize("name", JOBS)
def test_without_toll_they_do_nothing(name, tmp_path):
    run("\n".join(["import os", "os.environ.pop('TOLL_SOCKET', None)", JOBS[name]]), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "base"), [("lightning", "lightning.pytorch"), ("huggingface", "transformers"),
                                            ("keras", "keras")])
def test_every_method_is_one_of_the_framework(name, base, monkeypatch):
    """A misspelt method would never be called. Trainers copy their callbacks to other processes."""
    for place in (EXAMPLES, FRAMEWORKS):
        monkeypatch.syspath_prepend(str(place))
    framework = importlib.import_module(base)
    kind = getattr(framework, "TrainerCallback", None) or getattr(framework, "Callback")
    example = importlib.import_module(f"{name}_callback")
    classes = [one for one in vars(example).values() if inspect.isclass(one) and one is not kind]
    own = [(method, function) for one in classes for method, function in vars(one).items() if method.startswith("on_")]
    assert len(own) > 8
    for method, function in own:
        expected = list(inspect.signature(getattr(kind, method)).parameters)
        found = list(inspect.signature(function).parameters)
        assert found == expected or method == "on_log" and set(expected) <= set(found), method
    one = example.TollCallback()
    one.begin("train")
    again = pickle.loads(pickle.dumps(one))
    assert [phase.name for phase in again.open] == ["train"]
