"""Train, use and look into a small model from Python: strings of letters, from the last to the first.

    python examples/train_from_python.py [UPDATES]

600 updates take about a minute on one core; the model is then mostly right.
"""

import sys
import tempfile
from pathlib import Path

import heedful

updates = int(sys.argv[1]) if len(sys.argv) > 1 else 600
recipe_file = Path(__file__).parent.parent / "recipes" / "reverse.toml"

# Any key of the recipe can be overridden; a wrong one is an error that names the nearest.
overrides = [f"training.max_updates={updates}", f"training.validate_every={updates}", "training.warmup_steps=50"]
recipe = heedful.load_recipe(recipe_file, [*overrides, "data.pairs=5000"])

with tempfile.TemporaryDirectory() as folder:
    trained = heedful.train(recipe, Path(folder) / "run")
    for score in trained.finished.scores:
        interval = f"[{score.low:.1f}, {score.high:.1f}]"
        print(f"{trained.finished.split} {score.metric}: {score.value:.1f} {interval} n={score.n}")

    translator = heedful.load(trained.run)
    (translation,) = translator.translate(["a b c d e"])
    print("a b c d e ->", translation.text)
    print("log-probability of the right answer:", f"{translator.score(['a b c d e'], ['e d c b a'])[0].log_p:.2f}")

    # Where each output letter looked: the cross-attention of the last layer, mean of its heads.
    trace = translator.trace("a b c d e", "e d c b a")
    cross = next(map for map in reversed(trace.maps) if map.name.endswith("cross"))
    for predicted, row in zip(trace.predicted, cross.weights.mean(dim=0), strict=True):
        print(f"{predicted:>5} reads {trace.source[int(row.argmax())]}")
