# SPDX-License-Identifier: MIT
"""Keras: phases, and the metrics of each epoch as gauges, in the record of `toll run`.

    model.fit(x, y, callbacks=[TollCallback()])

    toll run -o run.jsonl -- python train.py

Phases: train, epoch, validation (evaluate outside of a training), predict. TollStepsCallback has each
training step too, which makes Keras fetch the metrics of each batch.
"""

import keras
import toll


class TollCallback(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
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

    def report(self, logs):
        for name, value in (logs or {}).items():
            try:
                toll.gauge(name, float(value))
            except (TypeError, ValueError):
                pass  # not a single number

    def on_train_begin(self, logs=None):
        self.end()  # an exception ends a training without an event
        self.begin("train")

    def on_train_end(self, logs=None):
        self.end("train")

    def on_epoch_begin(self, epoch, logs=None):
        self.begin("epoch")

    def on_epoch_end(self, epoch, logs=None):
        self.report(logs)
        self.end("epoch")

    def on_test_begin(self, logs=None):
        is_training = any(phase.name == "train" for phase in self.open)
        self.begin("validation" if is_training else "evaluate")

    def on_test_end(self, logs=None):
        is_training = any(phase.name == "train" for phase in self.open)
        if not is_training:
            self.report(logs)
        self.end("validation" if is_training else "evaluate")

    def on_predict_begin(self, logs=None):
        self.begin("predict")

    def on_predict_end(self, logs=None):
        self.end("predict")


class TollStepsCallback(TollCallback):
    def on_train_batch_begin(self, batch, logs=None):
        self.begin("step")

    def on_train_batch_end(self, batch, logs=None):
        self.end("step")
