"""Settings of the data: which pairs, from where, and how long they may be."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, PrivateAttr, model_validator

from heedful.config import Config

Paths = Annotated[tuple[str, ...], Field(strict=False, max_length=2)]
Count = Annotated[int, Field(gt=0)]


class DataConfig(Config):
    """Either a named data set (`catalogue`) or your own files (`train`, `dev`, and usually `test`).

    Two paths are two aligned text files (source, target); one path is a table: .tsv, .csv, .jsonl or .parquet; text
    may end in .gz.
    """

    catalogue: str | None = Field(default=None, description="a named data set: see `heedful data list`")
    folder: str | None = Field(
        default=None, description="a local copy of the named data set, instead of downloading it"
    )
    pairs: Annotated[int, Field(gt=0, le=100_000_000)] = Field(
        default=20_000, description="training pairs of a data set that is made at will (copy, fsdd-strings, ...)"
    )
    train: Paths = ()
    dev: Paths = ()
    test: Paths = ()
    source_column: str = Field(
        default="source", description="of a table: the source's name in the header, or its number from 1"
    )
    target_column: str = Field(default="target", description="the same for the target")
    max_length: Count = Field(
        default=256,
        description="training pairs with a longer side (in tokens; of speech in numbers, 4,000 a second) "
        "are dropped and counted",
    )
    allow_overlap: bool = Field(
        default=False, description="train although dev or test pairs also stand in the training data"
    )

    _began_in: Path | None = PrivateAttr(default=None)

    def begun_in(self, folder: Path) -> "DataConfig":
        """Return the same settings, with relative paths that lead to nothing from here taken from `folder`."""
        copy = self.model_copy()
        copy._began_in = folder
        return copy

    def place(self, path: str) -> str:
        """Return the path of a file or a folder of these settings."""
        if self._began_in is None or Path(path).exists() or not (self._began_in / path).exists():
            return path
        return str(self._began_in / path)

    @model_validator(mode="after")
    def _one_origin(self) -> "DataConfig":
        if self.catalogue is None and not self.train:
            raise ValueError("needs either `catalogue` or `train` and `dev`")
        if self.catalogue is not None and (self.train or self.dev or self.test):
            raise ValueError("`catalogue` names whole data sets, so `train`, `dev` and `test` must be left out")
        if self.catalogue is None and not self.dev:
            raise ValueError(
                "`dev` is required beside `train`: it chooses the checkpoint (`heedful data split` makes one)"
            )
        return self
