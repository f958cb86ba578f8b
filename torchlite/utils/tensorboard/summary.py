"""What is logged, as TensorBoard's messages."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.pr_curve import plugin_data_pb2 as pr_curve_pb2

from ...core.machine import Tensor
from ...viz.png import png
from . import images

_EXPONENTIAL = np.multiply.accumulate([1e-12, *[1.1] * 773])  # up to 1e20
_BINS = np.concatenate([-_EXPONENTIAL[::-1], [0], _EXPONENTIAL])


def as_numpy(value: Any) -> np.ndarray:
    """A tensor, an array, a list or a number as an array."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    if isinstance(value, (np.ndarray, list)):
        return np.array(value)
    if np.isscalar(value):
        return np.array([value])
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")


def _one(tag: str, **value: Any) -> Summary:
    return Summary(value=[Summary.Value(tag=tag, **value)])


def _metadata(plugin: str, content: bytes = b"", **more: Any) -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content), **more)


def _shape(*sizes: int) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


def scalar(tag: str, scalar_value: Any, new_style: bool = False, double_precision: bool = False) -> Summary:
    """Log a number."""
    number = as_numpy(scalar_value).squeeze()
    if number.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             Was given size: "
            f"{number.size} and {number.ndim} dimensions."
        )
    if not new_style:
        return _one(tag, simple_value=float(number))
    if double_precision:
        tensor = TensorProto(double_val=[float(number)], dtype="DT_DOUBLE")
    else:
        tensor = TensorProto(float_val=[float(number)], dtype="DT_FLOAT")
    return _one(tag, tensor=tensor, metadata=_metadata("scalars"))


def text(tag: str, text_string: str) -> Summary:
    """Log text, which may be Markdown."""
    tensor = TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=_shape(1))
    return _one(tag + "/text_summary", tensor=tensor, metadata=_metadata("text"))


def tensor(tag: str, tensor: Any) -> Summary:
    """Log a tensor."""
    array = as_numpy(tensor)
    kind = {"f": ("DT_FLOAT", "float_val"), "i": ("DT_INT64", "int64_val"), "u": ("DT_INT64", "int64_val")}
    if array.dtype.kind not in kind:
        raise NotImplementedError(f"torchlite cannot log tensors of dtype {array.dtype}")
    dtype, field = ("DT_DOUBLE", "double_val") if array.dtype == np.float64 else kind[array.dtype.kind]
    message = TensorProto(dtype=dtype, tensor_shape=_shape(*array.shape), **{field: array.reshape(-1).tolist()})
    return _one(tag, tensor=message, metadata=_metadata("tensor"))


def histogram(tag: str, values: Any, bins: Any = "tensorflow", max_bins: int | None = None) -> Summary:
    """Log how values are distributed. Bins are "tensorflow", whose widths grow, or what `numpy.histogram` takes."""
    array = as_numpy(values).reshape(-1).astype(np.float64)
    if not array.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins=_BINS if isinstance(bins, str) and bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        left = len(counts) % step
        counts = np.pad(counts, (0, step - left if left else 0)).reshape(-1, step).sum(-1)
        limits = np.append(limits[:-1:step], limits[-1])
    there = np.flatnonzero(counts)
    if not there.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    # Up to the limit of the last that is not empty, from an empty one before the first.
    first, last = max(there[0] - 1, 0), there[-1]
    shown = counts[first : last + 1]
    if there[0] == 0:
        shown = np.concatenate([[0], shown])
        limits = limits[first : last + 2]
    else:
        limits = limits[first + 1 : last + 2]
    return histogram_raw(
        tag, array.min(), array.max(), array.size, array.sum(), array.dot(array), limits.tolist(), shown.tolist()
    )


def histogram_raw(
    tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: list[float],
    bucket_counts: list[float],
) -> Summary:  # fmt: skip
    """Log a histogram that is there already."""
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
    message = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return _one(tag, histo=message)


def image(tag: str, img_tensor: Any, dataformats: str = "CHW") -> Summary:
    """Log a picture: bytes, or numbers between 0 and 1."""
    picture = images.as_bytes(images.with_channels_last(as_numpy(img_tensor), dataformats))
    height, width, channels = picture.shape
    file = png(picture)
    return _one(tag, image=Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file))


def images_as_one(tag: str, img_tensor: Any, dataformats: str = "NCHW") -> Summary:
    """Log several pictures as one."""
    return image(tag, img_tensor, dataformats)


def audio(tag: str, snd_tensor: Any, sample_rate: int = 44100) -> Summary:
    """Log a sound: samples between -1 and 1."""
    samples = as_numpy(snd_tensor).squeeze()
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes((samples.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2").tobytes())
    message = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(samples), encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )  # fmt: skip
    return _one(tag, audio=message)


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary:
    """Log the precision and the recall of predictions of true and false, at so many thresholds between 0 and 1."""
    thresholds = min(num_thresholds, 127)
    true = as_numpy(labels).reshape(-1).astype(float)
    weight = np.ones_like(true) if weights is None else as_numpy(weights).reshape(-1)
    bucket = np.floor(as_numpy(predictions).reshape(-1) * (thresholds - 1)).astype(int)
    counts = [np.bincount(bucket, w, thresholds)[::-1].cumsum()[::-1] for w in (true * weight, (1 - true) * weight)]
    tp, fp = counts
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    precision, recall = tp / np.maximum(least, tp + fp), tp / np.maximum(least, tp + fn)
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, thresholds)


def pr_curve_raw(
    tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any,
    false_negative_counts: Any, precision: Any, recall: Any, num_thresholds: int = 127, weights: Any = None,
) -> Summary:  # fmt: skip
    """Log such a curve that is there already."""
    thresholds = min(num_thresholds, 127)
    counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
    data = np.stack([as_numpy(a) for a in (*counts, precision, recall)])
    content = pr_curve_pb2.PrCurvePluginData(version=0, num_thresholds=thresholds).SerializeToString()
    message = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(*data.shape))
    return _one(tag, tensor=message, metadata=_metadata("pr_curves", content))


def custom_scalars(layout: dict[str, dict[str, list[Any]]]) -> Summary:
    """Charts by category: each a kind, "Multiline" or "Margin", and tags."""
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                value, lower, upper = tags
                series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
                made.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                lines = layout_pb2.MultilineChartContent(tag=[rf"{tag}" for tag in tags])
                made.append(layout_pb2.Chart(title=title, multiline=lines))
        categories.append(layout_pb2.Category(title=category, chart=made))
    content = layout_pb2.Layout(category=categories).SerializeToString()
    message = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=_shape())
    return _one("custom_scalars__config__", tensor=message, metadata=_metadata("custom_scalars"))


_KINDS: dict[type, tuple[str, str]] = {
    int: ("DATA_TYPE_FLOAT64", "number_value"),
    float: ("DATA_TYPE_FLOAT64", "number_value"),
    str: ("DATA_TYPE_STRING", "string_value"),
}


def hparams(hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None) -> list[Summary]:
    """The description of an experiment, its beginning with the hyperparameters, and its end."""
    given, metrics, discrete = hparam_dict, metric_dict, hparam_domain_discrete
    if not isinstance(given, dict):
        raise TypeError("parameter: hparam_dict should be a dictionary, nothing logged.")
    if not isinstance(metrics, dict):
        raise TypeError("parameter: metric_dict should be a dictionary, nothing logged.")
    discrete = discrete or {}
    start, infos = plugin_data_pb2.SessionStartInfo(), []
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = value.item()
        found = next((kind for cls, kind in _KINDS.items() if isinstance(value, cls)), None)
        if found is None:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        kind, field = found
        setattr(start.hparams[name], field, value)
        info = api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(kind))
        for choice in discrete.get(name, ()):
            setattr(info.domain_discrete.values.add(), field, choice)
        infos.append(info)
    shown = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metrics]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=shown)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return [
        _hparams_part(hparams_metadata.EXPERIMENT_TAG, experiment=experiment),
        _hparams_part(hparams_metadata.SESSION_START_INFO_TAG, session_start_info=start),
        _hparams_part(hparams_metadata.SESSION_END_INFO_TAG, session_end_info=end),
    ]


def _hparams_part(tag: str, **part: Any) -> Summary:
    data = plugin_data_pb2.HParamsPluginData(version=hparams_metadata.PLUGIN_DATA_VERSION, **part)
    return _one(tag, metadata=_metadata(hparams_metadata.PLUGIN_NAME, data.SerializeToString()))
