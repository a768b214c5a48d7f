"""The HTTP interface of the stand-in, with the SDK's own classes of requests and messages of protobuf."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch
import zstandard
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tinker import types
from tinker.proto import tinker_public_pb2 as pb
from tinker.types.create_model_request import CreateModelRequest
from tinker.types.create_sampling_session_request import CreateSamplingSessionRequest
from tinker.types.load_weights_request import LoadWeightsRequest
from tinker.types.sample_request import SampleRequest
from tinker.types.save_weights_for_sampler_request import SaveWeightsForSamplerRequest
from tinker.types.save_weights_request import SaveWeightsRequest

from .models import Datum, Snapshot, TrainedModel, prompt_logprobs, sample
from .service import Result, StandIn

KEY = "tml-stand-in"
CHUNK = 5
"""Rows in one request, so that updates are sent in several."""
CLIENT_CONFIG = {
    "fwdbwd_max_chunk_len": CHUNK,
    "use_pyqwest_transport": False,
    "create_model_via_load_weights": True,  # SDK 0.38 always does
}
LONGEST_WAIT = 5.0
"""Seconds for which the result of a request is waited for."""
_TYPES = {pb.DTYPE_FLOAT32: np.float32, pb.DTYPE_INT64: np.int64}
Handler = Callable[[Any], dict[str, Any]]


def app(service: StandIn) -> Starlette:
    endpoints = _Endpoints(service)
    posts: dict[str, tuple[type | None, Handler]] = {
        "client/config": (None, lambda _: CLIENT_CONFIG),
        "client/dynamic_config": (None, lambda _: types.ClientDynamicConfigResponse().model_dump()),
        "create_session": (None, lambda _: {"session_id": service.begin()}),
        "session_heartbeat": (None, lambda _: {}),
        "telemetry": (None, lambda _: {"status": "accepted"}),
        "create_model": (CreateModelRequest, endpoints.create_model),
        "load_weights": (LoadWeightsRequest, endpoints.load_weights),
        "get_info": (None, endpoints.get_info),
        "optim_step": (None, endpoints.optim_step),
        "save_weights": (SaveWeightsRequest, endpoints.save_weights),
        "save_weights_for_sampler": (SaveWeightsForSamplerRequest, endpoints.save_for_sampler),
        "create_sampling_session": (CreateSamplingSessionRequest, endpoints.create_sampler),
        "asample": (SampleRequest, endpoints.sample),
    }

    def json_route(path: str, model: Any, handler: Handler) -> Route:
        async def answer(request: Request) -> Response:
            body = await request.json()
            data = body if model is None else model.model_validate(body)
            return await _answered(handler, data)

        return Route(f"/api/v1/{path}", answer, methods=["POST"])

    async def forward_backward(request: Request) -> Response:
        body = await request.body()
        if request.headers.get("content-encoding") == "zstd":
            body = zstandard.ZstdDecompressor().decompress(body)
        return await _answered(endpoints.forward_backward, body)

    async def retrieve(request: Request) -> Response:
        request_id = (await request.json())["request_id"]
        result = await _waited_for(service, request_id)
        if result is None:
            return JSONResponse({"type": "try_again", "request_id": request_id, "queue_state": "active"})
        if isinstance(result, bytes):
            return Response(result, media_type="application/x-protobuf")
        return JSONResponse(result)

    async def sampler(request: Request) -> Response:
        snapshot, path = service.samplers[request.path_params["id"]]
        return JSONResponse({"sampler_id": request.path_params["id"], "base_model": snapshot.base, "model_path": path})

    async def capabilities(request: Request) -> Response:
        models = [
            {"model_name": name, "max_context_length": context, "trainable": True, "sampleable": True}
            for name, context in service.bases.items()
        ]
        return JSONResponse({"supported_models": models})

    async def finish(request: Request) -> Response:
        return JSONResponse({})

    return Starlette(
        routes=[
            *(json_route(path, *how) for path, how in posts.items()),
            Route("/api/v1/forward_backward", forward_backward, methods=["POST"]),
            Route("/api/v1/retrieve_future", retrieve, methods=["POST"]),
            Route("/api/v1/samplers/{id:path}", sampler),
            Route("/api/v1/sessions/{id}/finish", finish, methods=["POST"]),
            Route("/api/v1/get_server_capabilities", capabilities),
        ]
    )


class _Endpoints:
    def __init__(self, service: StandIn) -> None:
        self._service = service

    def create_model(self, asked: CreateModelRequest) -> dict[str, Any]:
        model_id = f"{asked.session_id}:train:{asked.model_seq_id}"
        assert asked.lora_config is not None

        def work() -> Result:
            self._service.create(model_id, asked.base_model, asked.lora_config)
            return {"model_id": model_id, "type": "create_model"}

        return {"request_id": self._service.at_once(f"{model_id}#create", work), "model_id": model_id}

    def load_weights(self, asked: LoadWeightsRequest) -> dict[str, Any]:
        model_id = f"{asked.session_id}:train:{asked.model_seq_id}"

        def work() -> Result:
            self._service.create_from(model_id, asked.path, optimizer=asked.optimizer)
            return {"path": asked.path, "model_id": model_id, "type": "load_weights"}

        return {"request_id": self._service.at_once(f"{model_id}#load", work), "model_id": model_id}

    def get_info(self, asked: dict[str, Any]) -> dict[str, Any]:
        trained = self._service.models[asked["model_id"]].trained
        data = {"model_name": trained.base, "tokenizer_id": trained.base}
        return {"model_data": data, "model_id": asked["model_id"], "is_lora": True, "lora_rank": trained.lora.rank}

    def forward_backward(self, body: bytes) -> dict[str, Any]:
        asked = pb.ForwardBackwardRequest()
        asked.ParseFromString(body)
        data = [_datum(one) for one in asked.data]
        settings = dict(asked.loss_fn_config)

        def work(trained: TrainedModel) -> Result:
            logprobs, loss = trained.forward_backward(data, asked.loss_fn, settings, backward=not asked.forward_only)
            return _output(logprobs, loss)

        kind = "forward" if asked.forward_only else asked.loss_fn
        return {"request_id": self._service.submit(kind, asked.model_id, asked.seq_id, work)}

    def optim_step(self, asked: dict[str, Any]) -> dict[str, Any]:
        def work(trained: TrainedModel) -> Result:
            trained.step(types.AdamParams.model_validate(asked["adam_params"]))
            return {"metrics": {}}

        return {"request_id": self._service.submit("optim_step", asked["model_id"], asked.get("seq_id") or 0, work)}

    def save_weights(self, asked: SaveWeightsRequest) -> dict[str, Any]:
        path = f"tinker://{asked.model_id}/weights/{asked.path}"

        def work(trained: TrainedModel) -> Result:
            self._service.states[path] = trained.base, trained.lora, trained.state()
            return {"path": path, "type": "save_weights"}

        return {"request_id": self._service.submit("save", asked.model_id, asked.seq_id or 0, work)}

    def save_for_sampler(self, asked: SaveWeightsForSamplerRequest) -> dict[str, Any]:
        def work(trained: TrainedModel) -> Result:
            snapshot = Snapshot(trained.base, trained.lora, trained.weights())
            if asked.path is not None:
                path = f"tinker://{asked.model_id}/sampler_weights/{asked.path}"
                self._service.snapshots[path] = snapshot
                return {"path": path, "type": "save_weights_for_sampler"}
            sampler = f"{asked.model_id.partition(':')[0]}:sample:{asked.sampling_session_seq_id}"
            self._service.samplers[sampler] = snapshot, None
            return {"sampling_session_id": sampler, "type": "save_weights_for_sampler"}

        return {"request_id": self._service.submit("snapshot", asked.model_id, asked.seq_id or 0, work)}

    def create_sampler(self, asked: CreateSamplingSessionRequest) -> dict[str, Any]:
        sampler = f"{asked.session_id}:sample:{asked.sampling_session_seq_id}"
        if asked.model_path is not None:
            self._service.samplers[sampler] = self._service.snapshots[asked.model_path], asked.model_path
        else:
            assert asked.base_model is not None
            self._service.samplers[sampler] = Snapshot(asked.base_model, None, {}), None
        return {"sampling_session_id": sampler}

    def sample(self, asked: SampleRequest) -> dict[str, Any]:
        assert asked.sampling_session_id is not None
        snapshot, _ = self._service.samplers[asked.sampling_session_id]
        prompt, params = asked.prompt.to_ints(), asked.sampling_params

        def work() -> Result:
            found = pb.SampleResponse()
            if asked.prompt_logprobs:
                found.prompt_logprobs = np.array([np.nan, *prompt_logprobs(snapshot, prompt)], np.float32).tobytes()
            assert params.max_tokens is not None
            ids, logprobs, reason = sample(
                snapshot,
                prompt,
                most=params.max_tokens,
                temperature=params.temperature,
                seed=params.seed or 0,
                stops=[stop for stop in params.stop or () if isinstance(stop, int)],
            )
            sequence = found.sequences.add()
            sequence.tokens = np.array(ids, np.int32).tobytes()
            sequence.logprobs = np.array(logprobs, np.float32).tobytes()
            sequence.stop_reason = pb.STOP_REASON_STOP if reason == "stop" else pb.STOP_REASON_LENGTH
            return found.SerializeToString()

        request_id = self._service.at_once(f"{asked.sampling_session_id}#{asked.seq_id}", work)
        return {"request_id": request_id, "sample_sequence_ids": [f"{request_id}/0"]}


async def _answered(handler: Handler, data: Any) -> Response:
    """What a handler answers; 404 if it does not know the model, the weights or the session."""
    try:
        return JSONResponse(await run_in_threadpool(handler, data))
    except KeyError as unknown:
        return JSONResponse({"detail": f"there is no {unknown}"}, 404)


async def _waited_for(service: StandIn, request_id: str) -> Result | None:
    """The result of a request; None if it is not there after the longest wait."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + LONGEST_WAIT
    while request_id not in service.results and loop.time() < deadline:
        changed = asyncio.Event()

        def wake(changed: asyncio.Event = changed) -> None:
            with suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(changed.set)

        service.waiting.append(wake)
        if request_id in service.results:
            break
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), max(0.0, deadline - loop.time()))
    return service.results.get(request_id)


def _datum(message: Any) -> Datum:
    ids = [int(token) for chunk in message.model_input for token in np.frombuffer(chunk.encoded_text.tokens, np.int32)]
    inputs = {
        name: torch.from_numpy(np.frombuffer(tensor.dense, _TYPES[tensor.dtype]).copy())
        for name, tensor in message.loss_fn_inputs.items()
    }
    return Datum(ids, inputs)


def _output(logprobs: list[torch.Tensor], loss: float) -> bytes:
    found = pb.ForwardBackwardOutput(loss_fn_output_type="ArrayRecord", metrics={"loss:sum": loss})
    record = found.loss_fn_outputs.add()
    record.num_datums = len(logprobs)
    rows = [row.numpy().astype(np.float32) for row in logprobs]
    field = record.fields["logprobs"]
    field.dtype = pb.DTYPE_FLOAT32
    field.data = b"".join(row.tobytes() for row in rows)
    field.offsets = np.cumsum([0, *(row.nbytes for row in rows)], dtype=np.int64).tobytes()
    return found.SerializeToString()
