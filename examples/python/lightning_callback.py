# SPDX-License-Identifier: MIT
"""PyTorch Lightning: phases, and the logged metrics as gauges, in the record of `toll run`.

    trainer = Trainer(callbacks=[TollCallback()])

    toll run -o run.jsonl -- python train.py

Phases: fit, sanity check, epoch, validation, test, predict. With steps=True also each training step: an
epoch without its steps and validations is mostly waiting for data.
"""

import toll
from lightning.pytorch import Callback


class TollCallback(Callback):
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

    def report(self, trainer):
        for name, value in trainer.callback_metrics.items():
            try:
                toll.gauge(name, float(value))
            except (RuntimeError, TypeError, ValueError):
                pass  # not a single number

    def on_fit_start(self, trainer, pl_module):
        self.begin("fit")

    def on_fit_end(self, trainer, pl_module):
        self.end("fit")

    def on_train_epoch_start(self, trainer, pl_module):
        self.begin("epoch")

    def on_train_epoch_end(self, trainer, pl_module):
        self.report(trainer)
        self.end("epoch")

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if self.steps:
            self.begin("step")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.end("step")

    def on_validation_start(self, trainer, pl_module):
        self.begin("sanity check" if trainer.sanity_checking else "validation")

    def on_validation_end(self, trainer, pl_module):
        if trainer.sanity_checking:
            self.end("sanity check")
        else:
            self.report(trainer)
            self.end("validation")

    def on_test_start(self, trainer, pl_module):
        self.begin("test")

    def on_test_end(self, trainer, pl_module):
        self.report(trainer)
        self.end("test")

    def on_predict_start(self, trainer, pl_module):
        self.begin("predict")

    def on_predict_end(self, trainer, pl_module):
        self.end("predict")

    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        toll.event("checkpoint", step=trainer.global_step)

    def on_exception(self, trainer, pl_module, exception):
        self.end()
