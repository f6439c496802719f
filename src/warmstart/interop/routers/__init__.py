"""Logs of requests to language models: LiteLLM, Langfuse and OpenTelemetry, one reader each."""
