"""Keras with torch beneath: dense, convolutional and recurrent models fitted, attention, operations, a model's file."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rows = np.random.rand(64, 8).astype("float32")
model = keras.Sequential(
    [layers.Input((8,)), layers.Dense(16, activation="relu"), layers.Dropout(0.1), layers.Dense(2)]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(rows, (rows.sum(1) > 4).astype("int64"), epochs=3, verbose=0, validation_split=0.25).history
for name, values in history.items():
    print(name, *[f"{value:.4f}" for value in values])

image = keras.Input((8, 8, 1))
hidden = layers.BatchNormalization()(layers.Conv2D(4, 3, activation="gelu")(image))
hidden = layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(hidden))
network = keras.Model(image, layers.Dense(1)(hidden))
network.compile(keras.optimizers.SGD(0.05, momentum=0.9), "mse")
images = np.random.rand(32, 8, 8, 1).astype("float32")
losses = network.fit(images, images.mean((1, 2)), epochs=2, verbose=0).history["loss"]
print("convolutional", *[f"{loss:.4f}" for loss in losses])

recurrent = keras.Sequential(
    [
        layers.Embedding(20, 8),
        layers.LSTM(6, return_sequences=True),
        layers.Bidirectional(layers.GRU(5)),
        layers.LayerNormalization(),
        layers.Dense(1, activation="sigmoid"),
    ]
)
recurrent.compile("rmsprop", "binary_crossentropy")
tokens = np.random.randint(0, 20, (32, 7))
losses = recurrent.fit(tokens, tokens[:, :1] % 2, epochs=2, verbose=0).history["loss"]
print("recurrent", *[f"{loss:.4f}" for loss in losses])

attended = layers.MultiHeadAttention(2, 4)(keras.ops.ones((2, 3, 8)), keras.ops.ones((2, 3, 8)))
print("attention", f"{keras.ops.convert_to_numpy(attended).sum():.4f}")
for name in ("softmax", "logsumexp", "cumsum", "sort", "median", "std", "gelu", "erf"):
    made = keras.ops.convert_to_numpy(getattr(keras.ops, name)(rows[:3]))
    print(name, f"{made.sum():.4f}")

with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.keras")
    again = keras.models.load_model(f"{folder}/model.keras")
    print("loaded", np.array_equal(again.predict(rows, verbose=0), model.predict(rows, verbose=0)))
