import assert from "node:assert/strict";
import { test } from "node:test";
import type { Process } from "../src/model";
import { outcomeOf } from "../src/panels/network/outcome";
import { SocketsUsed } from "../src/panels/network/sockets";
import type { Kind, Line } from "../src/panels/network/sockets";

const told = (results: Record<string, string[]>, kind: Kind = "connecting") => {
  const connects = { connecting: new Set<string>(), datagram: new Set<string>(), either: new Set<string>() };
  connects[kind] = new Set(results.connect);
  return outcomeOf(new Map(Object.entries(results).map(([op, words]) => [op, new Set(words)])), connects);
};

const line = (op: string, at: number, more: object = {}) =>
  ({ process: 1, op, category: "net", result: "ok", count: 1, first_ns: at, last_ns: at, ...more }) as Line;
const child = { process: 2, parent: 1, first_ns: 30, execs: [{ at_ns: 35, result: "ok" }] } as unknown as Process;

test("a connect of a datagram socket only sets an address", () => {
  assert.equal(told({ connect: ["ok"] }, "datagram").words, "address set, sending not seen");
  assert.equal(told({ connect: ["ok"] }, "either").words, "connected, or only an address set");
  assert.equal(told({ connect: ["EINPROGRESS"] }, "either").words, "attempted, outcome not seen");
  assert.equal(told({ connect: ["EPERM"] }, "datagram").words, "refused or failed: EPERM");
});

test("a connect is of the kind of all sockets that it can be made on", () => {
  const [datagram, stream] = [line("socket", 10, { path: "10:2" }), line("socket", 20, { path: "2:1" })];
  const connect = line("connect", 25);
  assert.equal(new SocketsUsed([connect], []).kind(connect, "inet"), "connecting");
  assert.equal(new SocketsUsed([datagram], []).kind(connect, "inet"), "datagram");
  assert.equal(new SocketsUsed([datagram, stream], []).kind(connect, "inet"), "either");
  assert.equal(new SocketsUsed([datagram, stream], []).kind(line("connect", 15), "inet"), "datagram");
});

test("a socket that exec closes is not one of the program that is executed", () => {
  const connect = line("connect", 40, { process: 2 });
  const kept = line("socket", 10, { path: "2:2" });
  const closed = line("socket", 10, { path: `2:${2 | 0o2000000}` });
  assert.equal(new SocketsUsed([kept], [child]).kind(connect, "inet"), "datagram");
  assert.equal(new SocketsUsed([closed], [child]).kind(connect, "inet"), "connecting");
});

test("a connect that was refused is never a connection", () => {
  assert.deepEqual(told({ connect: ["ECONNREFUSED", "EHOSTUNREACH"] }), {
    words: "refused or failed: ECONNREFUSED, EHOSTUNREACH",
    isRefused: true,
  });
});

test("a connect that was begun, or whose result nobody saw, is told as that", () => {
  for (const result of ["EINPROGRESS", "EALREADY", "EINTR", "unknown"])
    assert.deepEqual(told({ connect: [result, "ECONNREFUSED"] }), { words: "attempted, outcome not seen", isRefused: false });
});

test("only a result says that a connection came to pass", () => {
  assert.equal(told({ connect: ["EINPROGRESS", "ok"] }).words, "connected");
  assert.equal(told({ connect: ["EINPROGRESS", "EISCONN"] }).words, "connected");
});

test("what was done besides has its own words", () => {
  assert.equal(told({ bind: ["ok"], listen: ["ok"], accept: ["EAGAIN"] }).words, "bound; listened on; accept: refused or failed: EAGAIN");
  assert.equal(told({ send: ["unknown"] }).words, "send: attempted, outcome not seen");
  assert.deepEqual(told({ connect: ["ECONNREFUSED"], send: ["ok"] }), {
    words: "refused or failed: ECONNREFUSED; sent to",
    isRefused: false,
  });
  assert.deepEqual(told({}), { words: "–", isRefused: false });
});
