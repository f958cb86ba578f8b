"""`SummaryWriter`: what a training run logs, written to an event file as it comes."""

from __future__ import annotations

import inspect
import os
import socket
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn

from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ...nn.headers import binder
from . import embedding, images, summary
from ._pytorch_graph import graph

__all__ = ["FileWriter", "SummaryWriter"]

_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


class FileWriter:
    """Writes messages to an event file in a directory."""

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(os.fspath(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        return self.event_writer.get_logdir()

    def add_event(self, event: Event, step: int | None = None, walltime: float | None = None) -> None:
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Summary, global_step: int | None = None, walltime: float | None = None) -> None:
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[GraphDef, RunMetadata], walltime: float | None = None) -> None:
        drawn, stats = graph_profile
        self.add_event(Event(graph_def=drawn.SerializeToString()), None, walltime)
        tagged = TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())
        self.add_event(Event(tagged_run_metadata=tagged), None, walltime)

    def flush(self) -> None:
        self.event_writer.flush()

    def close(self) -> None:
        self.event_writer.close()

    def reopen(self) -> None:
        self.event_writer.reopen()


def _logs(make: Callable[..., Summary], step: int, walltime: int | None = None) -> Callable[..., None]:
    """The method that logs what `make` makes of its arguments, among which the step and the time have these places."""
    header = list(inspect.signature(make).parameters.values())
    for name, at in (("global_step", step), ("walltime", walltime or step + 1)):
        header.insert(at, inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None))
    name = "add_images" if make is summary.images_as_one else f"add_{make.__name__}"
    bind = binder(name, header)

    def add(self: SummaryWriter, *args: Any, **kwargs: Any) -> None:
        given = bind(*args, **kwargs)
        when = given.pop("global_step"), given.pop("walltime")
        self._add(make(**given), *when)

    add.__name__, add.__qualname__, add.__doc__ = name, f"SummaryWriter.{name}", make.__doc__
    add.__signature__ = inspect.Signature([_SELF, *header])  # type: ignore[attr-defined]
    return add


class SummaryWriter:
    """Logs to `log_dir`, or to a directory in `runs` that is named by the time, the machine and `comment`.

    With `purge_step`, what was logged there before for that step and later ones is not shown.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] | None = None, comment: str = "", purge_step: int | None = None,
        max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step, self.max_queue = purge_step, max_queue
        self.flush_secs, self.filename_suffix = flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def _add(self, made: Summary, step: Any, walltime: float | None = None) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    def get_logdir(self) -> str:
        """The directory."""
        return self.log_dir

    # ---- numbers

    add_scalar = _logs(summary.scalar, 2)
    add_tensor = _logs(summary.tensor, 2)
    add_histogram = _logs(summary.histogram, 2, 4)
    add_histogram_raw = _logs(summary.histogram_raw, 8)
    add_pr_curve = _logs(summary.pr_curve, 3, 6)
    add_pr_curve_raw = _logs(summary.pr_curve_raw, 7, 10)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Log numbers that are shown in one chart, each in an event file of its own."""
        main = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            directory = f"{main}/{main_tag.replace('/', '_')}_{tag}"
            if directory not in self.all_writers:
                self.all_writers[directory] = FileWriter(
                    directory, self.max_queue, self.flush_secs, self.filename_suffix
                )
            made = summary.scalar(main_tag, value)
            self.all_writers[directory].add_summary(made, global_step, walltime)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None, run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:  # fmt: skip
        """Log hyperparameters and what came of them, as a run of its own."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        parts = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        directory = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=directory) as run:
            for part in parts:
                run._add(part, None)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    # ---- what is read, seen and heard

    add_text = _logs(summary.text, 2)
    add_image = _logs(summary.image, 2)
    add_images = _logs(summary.images_as_one, 2)
    add_audio = _logs(summary.audio, 2, 4)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Log a figure of matplotlib, or several."""
        several = isinstance(figure, list)
        pictures = [images.of_figure(f, close) for f in (figure if several else [figure])]
        self.add_image(
            tag, summary.np.stack(pictures) if several else pictures[0], global_step, walltime,
            "NCHW" if several else "CHW",
        )  # fmt: skip

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: int | None = None,
        tag: str = "default", metadata_header: list[str] | None = None,
    ) -> None:  # fmt: skip
        """Log points, one in each row of `mat`, with labels and pictures."""
        embedding.write(self.log_dir, mat, metadata, label_img, int(global_step or 0), tag, metadata_header)

    # ---- charts

    def add_custom_scalars(self, layout: dict[str, dict[str, list[Any]]]) -> None:
        """Say which numbers go into one chart: `{category: {title: ["Multiline", tags]}}`."""
        self._add(summary.custom_scalars(layout), None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One such chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of a value between two others."""
        if len(tags) != 3:
            raise AssertionError("marginchart must have 3 tags")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Log what `model` calls when it is run on `input_to_model` in evaluation mode, module by module."""
        try:
            made, stats = graph(model, input_to_model, verbose, use_strict_trace)
        except RuntimeError as error:
            print(error)
            print("Error occurs, No graph saved")
            raise
        self._get_file_writer().add_graph((made, stats))

    # ---- what cannot be logged

    def add_onnx_graph(self, prototxt: str) -> NoReturn:
        raise NotImplementedError("torchlite does not read ONNX graphs")

    def add_video(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("torchlite does not encode videos: log frames with add_images")

    def add_mesh(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("torchlite does not log meshes")

    def add_image_with_boxes(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("torchlite does not draw boxes: draw them, and log the picture with add_image")

    # ---- the end

    def flush(self) -> None:
        """Write what has not been written yet."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write the rest. What is logged later goes to a new file."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
