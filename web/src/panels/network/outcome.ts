// What became of the calls on one endpoint, in the words that the head of the page has, too. Pure.
// In: the results of each kind of call, as syscalls.ndjson names them. Out: words. A connect that was begun without
// waiting says EINPROGRESS, and the observer "notify" sees no result: neither is taken for a connection.
import { visible } from "../../words";
import type { Kind } from "./sockets";

export interface Outcome {
  words: string;
  /** Whether everything that was tried is known to have failed. */
  isRefused: boolean;
}

/** In the order in which they are told. */
const DONE: [string, string][] = [
  ["connect", "connected"],
  ["send", "sent to"],
  ["bind", "bound"],
  ["listen", "listened on"],
  ["accept", "accepted"],
];
const ADDRESS_SET = "address set, sending not seen";
const CONNECTED_OR_SET = "connected, or only an address set";
const NOT_SEEN = "attempted, outcome not seen";
const FAILED = "refused or failed";
const UNDER_WAY = new Set(["unknown", "EINPROGRESS", "EALREADY", "EINTR"]);
/** Only a connection that came to pass is there already. */
const THERE_ALREADY = "EISCONN";

/** The results of connects, by the kind of socket. */
export type Connects = Record<Kind, Set<string>>;

export function outcomeOf(results: Map<string, Set<string>>, connects: Connects): Outcome {
  const told: string[] = [];
  let isRefused = true;
  for (const [op, done] of DONE) {
    const found = results.get(op);
    if (!found) continue;
    const words = op === "connect" ? connected(found, done, connects) : wordsFor(op, done, found);
    told.push(op === "connect" || words === done ? words : `${op}: ${words}`);
    isRefused &&= words.startsWith(FAILED);
  }
  return { words: told.join("; ") || "–", isRefused: isRefused && told.length > 0 };
}

/** The best that came of connecting. A connect of a datagram socket sends nothing: it sets an address. */
function connected(all: Set<string>, done: string, { connecting, datagram, either }: Connects): string {
  const is = (results: Set<string>, words: string) => results.size > 0 && wordsFor("connect", words, results) === words;
  if (is(connecting, done)) return done;
  if (is(either, CONNECTED_OR_SET)) return CONNECTED_OR_SET;
  const open = (results: Set<string>) => [...results].some((result) => isUnderWay("connect", result));
  if (open(connecting) || open(either)) return NOT_SEEN;
  if (is(datagram, ADDRESS_SET)) return ADDRESS_SET;
  return wordsFor("connect", done, all);
}

function wordsFor(op: string, done: string, results: Set<string>): string {
  if (results.has("ok") || (op === "connect" && results.has(THERE_ALREADY))) return done;
  if ([...results].some((result) => isUnderWay(op, result))) return NOT_SEEN;
  const errors = [...results].map((result) => (result === "failed" ? "errno not seen" : result));
  return `${FAILED}: ${visible(errors.sort().join(", "))}`;
}

/** Whether a result leaves open what became of the call. */
export function isUnderWay(op: string, result: string): boolean {
  return result === "unknown" || (op === "connect" && UNDER_WAY.has(result));
}
