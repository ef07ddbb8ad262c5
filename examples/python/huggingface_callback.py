# SPDX-License-Identifier: MIT
"""Hugging Face Trainer: phases, and the logged numbers as gauges, in the record of `toll run`.

    trainer = Trainer(model, args, train_dataset=data, callbacks=[TollCallback()])

    toll run -o run.jsonl -- python train.py

Phases: train, epoch, evaluate, save. With steps=True also each training step: an epoch without its
steps, evaluations and checkpoints is mostly waiting for data. The Trainer reports the end of an
evaluation, not its begin: trainer.evaluate() outside of a training counts from its first batch on.
"""

import toll
from transformers import TrainerCallback


class TollCallback(TrainerCallback):
    def __init__(self, steps=False):
        self.steps = steps
        self.open = []  # phases that have begun, the innermost last

    def begin(self, name):
        phase = toll.phase(name)
        phase.begin()
        self.open.append(phase)

    def end(self, name=None):
        """With the phases in it that were left early; without a name, of all."""
        while name is None and self.open or any(phase.name == name for phase in self.open):
            phase = self.open.pop()
            phase.end()
            if phase.name == name:
                break

    def begin_next(self, control):
        """What the Trainer does between two steps: it evaluates, then it saves."""
        if control.should_evaluate:
            self.begin("evaluate")
        elif control.should_save:
            self.begin("save")

    def on_train_begin(self, args, state, control, **kwargs):
        self.end()  # an exception ends a training without an event
        self.begin("train")

    def on_train_end(self, args, state, control, **kwargs):
        self.end("train")

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.begin("epoch")

    def on_epoch_end(self, args, state, control, **kwargs):
        self.end("epoch")
        self.begin_next(control)

    def on_step_begin(self, args, state, control, **kwargs):
        if self.steps:
            self.begin("step")

    def on_step_end(self, args, state, control, **kwargs):
        self.end("step")
        self.begin_next(control)

    def on_prediction_step(self, args, state, control, **kwargs):
        if not any(phase.name == "evaluate" for phase in self.open):
            self.begin("evaluate")

    def on_evaluate(self, args, state, control, **kwargs):
        self.end("evaluate")
        if control.should_save:
            self.begin("save")

    def on_predict(self, args, state, control, metrics, **kwargs):
        self.end("evaluate")

    def on_save(self, args, state, control, **kwargs):
        self.end("save")
        toll.event("checkpoint", step=state.global_step)

    def on_log(self, args, state, control, logs=None, **kwargs):
        for name, value in (logs or {}).items():
            try:
                toll.gauge(name, float(value))
            except (TypeError, ValueError):
                pass  # not a number
