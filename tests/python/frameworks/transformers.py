# SPDX-License-Identifier: MIT
"""A stand-in for transformers 4 and 5: the events of its callbacks, called with the same arguments and in
the same order by a Trainer that trains nothing. As there, its own callback, which decides what follows a
step, comes before those of the user."""

import types

EVENTS = [
    "on_init_end", "on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end", "on_step_begin",
    "on_pre_optimizer_step", "on_optimizer_step", "on_substep_end", "on_step_end", "on_evaluate", "on_predict",
    "on_save", "on_log", "on_prediction_step",
]


def _event(name):
    scope = {}
    more = "metrics, " if name == "on_predict" else ""
    exec(f"def {name}(self, args, state, control, {more}**kwargs): pass", scope)
    return scope[name]


class TrainerCallback:
    """Every event does nothing."""


for _name in EVENTS:
    setattr(TrainerCallback, _name, _event(_name))


class Trainer:
    def __init__(self, model, callbacks, epochs=2):
        self.model, self.callbacks, self.epochs = model, callbacks, epochs
        self.state = types.SimpleNamespace(epoch=0.0, global_step=0, is_world_process_zero=True)
        self.control = types.SimpleNamespace(should_training_stop=False, should_epoch_stop=False,
                                             should_save=False, should_evaluate=False, should_log=False)
        self.call("on_init_end")

    def call(self, event, **more):
        for callback in self.callbacks:
            getattr(callback, event)({}, self.state, self.control, model=self.model, processing_class=None,
                                     optimizer=None, lr_scheduler=None, train_dataloader=[],
                                     eval_dataloader=[], **more)

    def evaluate(self):
        for _ in range(2):
            self.model.work()
            self.call("on_prediction_step")
        self.call("on_log", logs={"eval_loss": 0.25, "epoch": self.state.epoch})
        self.control.should_evaluate = False
        self.call("on_evaluate", metrics={"eval_loss": 0.25})

    def predict(self):
        self.model.work()
        self.call("on_prediction_step")
        self.call("on_predict", metrics={})

    def log_save_evaluate(self):
        if self.control.should_log:
            self.control.should_log = False
            self.call("on_log", logs={"loss": 0.5, "learning_rate": 1e-05, "note": "a text"})
        if self.control.should_evaluate:
            self.evaluate()
        if self.control.should_save:
            self.model.work()
            self.control.should_save = False
            self.call("on_save")

    def train(self):
        self.call("on_train_begin")
        for epoch in range(self.epochs):
            self.call("on_epoch_begin")
            for _ in range(3):
                self.control.should_save = self.control.should_evaluate = self.control.should_log = False
                self.call("on_step_begin")
                self.model.work()
                self.call("on_pre_optimizer_step")
                self.call("on_optimizer_step")
                self.state.global_step += 1
                self.control.should_save = self.state.global_step % 2 == 0  # save_steps=2
                self.call("on_step_end")
                self.log_save_evaluate()
            self.state.epoch = epoch + 1.0
            self.control.should_log = self.control.should_evaluate = self.control.should_save = True
            self.call("on_epoch_end")
            self.log_save_evaluate()
        self.call("on_log", logs={"train_runtime": 1.5})
        self.call("on_train_end")
