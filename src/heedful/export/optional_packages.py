"""The packages that only some targets need, each with the extra of heedful that brings it. Knows none of them."""

from importlib import import_module
from types import ModuleType

from heedful.errors import HeedfulError

EXTRAS = {"ctranslate2": "fast", "onnx": "onnx", "onnxruntime": "onnx", "transformers": "huggingface"}


def package(name: str) -> ModuleType:
    """Import one of these packages, or a module of one. Raises HeedfulError where it is not
    installed or does not load.
    """
    root = name.partition(".")[0]
    hint = f"Install it: pip install 'heedful[{EXTRAS[root]}]'."
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = root if error.name in (None, root, name) else f"{error.name}, which {root} needs,"
        raise HeedfulError(f"The package {missing} is not installed.", hint=hint) from None
    except ImportError as error:
        raise HeedfulError(f"The package {root} does not load: {error}.", hint=hint) from None
