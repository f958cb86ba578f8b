"""PPO for some steps of CartPole."""

from stable_baselines3 import PPO

model = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, n_epochs=2, seed=0, device="cpu")
model.learn(128)
print(sum(p.sum().item() for p in model.policy.parameters()))
print(model.predict(model.env.reset(), deterministic=True)[0])
