"""The story of `story.rs`, told by the official client in Python.

The first argument says in JSON what to connect to. What only the server's own machine can see or do is wished for in a line
on standard output, and granted with a line on standard input.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

ABOUT = json.loads(sys.argv[1])
REVISION = ABOUT["revision"]
STATELESS = "2026-07-28"
PROJECTS = ["afc"]


async def wish(**what):
    print(json.dumps(what), flush=True)
    granted = await asyncio.to_thread(sys.stdin.readline)
    assert granted == "done\n", granted


@asynccontextmanager
async def connected(origin=None):
    mode = STATELESS if REVISION == STATELESS else "legacy"
    if ABOUT["url"] is None:
        server = StdioServerParameters(
            command=ABOUT["program"],
            args=["mcp", "--profile", "full"],
            env=ABOUT["variables"],
            cwd=ABOUT["folder"],
        )
        async with Client(server, mode=mode) as client:
            yield Model(client)
        return
    headers = {"Authorization": f"Bearer {ABOUT['token']}"}
    if origin:
        headers["Origin"] = origin
    import ssl

    trusted = ssl.create_default_context(cafile=ABOUT["authority"])
    async with httpx2.AsyncClient(headers=headers, verify=trusted, timeout=60, trust_env=False) as http:
        async with Client(streamable_http_client(ABOUT["url"], http_client=http), mode=mode) as client:
            yield Model(client)


class Model:
    def __init__(self, client):
        self.client = client

    async def tell(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        return bool(result.is_error), result.structured_content

    async def call(self, tool, **arguments):
        refused, answer = await self.tell(tool, **arguments)
        assert not refused, (tool, answer)
        return answer

    async def refused(self, tool, **arguments):
        refused, answer = await self.tell(tool, **arguments)
        assert refused, (tool, answer)
        return answer

    async def open(self, name, **more):
        return (await self.call("session_open", name=name, **more))["session"]["id"]

    async def create(self, session, title):
        return (await self.call("task_create", session=session, project="afc", title=title))["task"]["id"]

    async def claim(self, session, task):
        claimed = await self.call("claim", session=session, task=task)
        return {"session": session, "task": task, "lease": claimed["lease"]}

    async def close(self, held):
        closed = await self.call("close", note="done", **held)
        assert closed["task"]["status"] == "done", closed


async def the_loop(model, session):
    once = {"session": session, "project": "afc", "title": "once", "operation_id": "only-once"}
    first = await model.call("task_create", **once)
    again = await model.call("task_create", **once)
    assert first["task"]["id"] == again["task"]["id"], "the same id is the same change"
    held = await model.claim(session, first["task"]["id"])
    await model.call("heartbeat", **held)
    await model.call("note", text="begun", **held)
    await model.close(held)


async def a_refusal_and_its_next_step(model, session):
    refused = await model.refused("claim", session=session, task="afc-99999")
    assert refused["code"] == "not_found", refused
    assert refused["detail"] and refused["next_actions"][0], refused
    try:
        await model.tell("task_destroy")
    except MCPError as error:
        assert error.code == -32602, error
    else:
        raise AssertionError("there is a tool that is not listed")


async def page_after_page(model, session):
    created = [await model.create(session, title) for title in ["one", "two", "three"]]
    found, page = [], {"project": "afc", "limit": 2}
    while True:
        listed = await model.call("task_list", **page)
        assert 1 <= len(listed["tasks"]) <= 2, listed
        found += [row["id"] for row in listed["tasks"]]
        if not listed.get("cursor"):
            break
        page["cursor"] = listed["cursor"]
    assert all(found.count(task) == 1 for task in created), found
    for task in created:
        await model.close(await model.claim(session, task))


async def subagents(model, parent, name):
    one = await model.open(f"{name}.1", parent=parent)
    two = await model.open(f"{name}.2", parent=parent)
    task = await model.create(parent, "for one of them")
    held = await model.claim(one, task)
    assert (await model.refused("claim", session=two, task=task))["code"] == "lease_held"
    foreign = await model.refused("note", text="not mine", **{**held, "session": two})
    assert foreign["code"] == "not_holder", foreign
    await model.close(held)


async def a_lost_connection(model, session):
    task = await model.create(session, "begun on another connection")
    async with connected() as first:
        held = await first.claim(session, task)
    async with connected() as second:
        await second.call("heartbeat", **held)
        await second.close(held)


async def nobody_waits(model, waiter, other):
    waiting = asyncio.create_task(model.tell("claim", session=waiter, wait_ms=40_000, projects=PROJECTS))
    await wish(wish="waiting", count=1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    if ABOUT["url"] is not None:
        await wish(wish="waiting", count=0)
    task = await model.create(other, "after it was cancelled")
    await wish(wish="waiting", count=0)
    claimed = await model.call("claim", session=other, projects=PROJECTS)
    assert claimed["task"]["id"] == task, claimed
    await model.close({"session": other, "task": task, "lease": claimed["lease"]})


async def a_foreign_origin():
    try:
        async with connected(origin="http://elsewhere.example") as model:
            await model.client.list_tools()
    except Exception:  # whatever the client makes of 403
        return
    raise AssertionError("a page of another origin may connect")


async def a_revoked_token(model, session):
    waiting = asyncio.create_task(model.tell("claim", session=session, wait_ms=40_000, projects=PROJECTS))
    await wish(wish="waiting", count=1)
    await wish(wish="revoke")
    refused, told = await waiting
    assert refused and told["code"] == "unauthenticated", told
    try:
        refused, told = await model.tell("claim", session=session, projects=PROJECTS)
        assert refused and told["code"] == "unauthenticated", told
    except MCPError as error:
        assert ABOUT["url"] is not None, error
        print(f"{error!r}", file=sys.stderr)


async def play():
    async with connected() as model:
        assert model.client.protocol_version == REVISION, model.client.protocol_version
        assert "session_open" in [tool.name for tool in (await model.client.list_tools()).tools]
        name = f"lead-{REVISION}"
        session = await model.open(name)
        await the_loop(model, session)
        await a_refusal_and_its_next_step(model, session)
        await page_after_page(model, session)
        await subagents(model, session, name)
        await a_lost_connection(model, session)
        other = await model.open(f"other-{REVISION}")
        await nobody_waits(model, session, other)
        if ABOUT["url"] is not None:
            await a_foreign_origin()
        await a_revoked_token(model, session)


asyncio.run(play())
print(json.dumps({"wish": "end"}), flush=True)
