"""The tools that an agent has over its memory: plain functions from parameters to an answer."""
