// Which kind of socket a connect was made on, as far as the record can tell: the same as views/sockets_used.py says. Pure.
// In: the lines of the network and the processes. Out: a kind. A connect is of one kind when every socket that it could be made
// on is: those that its process made before, and those of its parents that it may have inherited. Never guesses.
import type { Process } from "../../model";
import { timeOf } from "../../span";
import { lookup } from "../../words";

export interface Line {
  process: number;
  op: string;
  category: string;
  result: string;
  count: number;
  first_ns: number | string;
  last_ns: number | string;
  path?: string;
  path_b64?: string;
}

/** connecting: also where no socket was seen being made. datagram: connecting sends nothing, it sets an address. */
export type Kind = "connecting" | "datagram" | "either";

interface Socket {
  family: string | undefined;
  isDatagram: boolean;
  isInherited: boolean;
  first: number;
}

export const FAMILIES: Record<string, string> = { 1: "unix", 2: "inet", 10: "inet6", 16: "netlink", 17: "packet" };
const DATAGRAM = [2, 3];
const TYPE_BITS = 15; // above are SOCK_CLOEXEC and SOCK_NONBLOCK
const CLOSED_BY_EXEC = 0o2000000;

export class SocketsUsed {
  private readonly sockets = new Map<number, Socket[]>();
  private readonly processes: Map<number, Process>;

  constructor(lines: Line[], processes: Process[]) {
    this.processes = new Map(processes.map((one) => [one.process, one]));
    for (const line of lines) {
      if (line.op !== "socket") continue;
      const made = this.sockets.get(line.process) ?? [];
      made.push(socketOf(line));
      this.sockets.set(line.process, made);
    }
  }

  /** The kind of a connect to an address of a family. */
  kind(line: Line, family: string): Kind {
    const until = timeOf(line.last_ns);
    const fitting = this.withinReach(line).filter((one) => takes(one, family) && one.first <= until);
    const datagrams = fitting.filter((one) => one.isDatagram).length;
    if (!datagrams) return "connecting";
    return datagrams === fitting.length ? "datagram" : "either";
  }

  private withinReach(line: Line): Socket[] {
    const found: Socket[] = [];
    const seen = new Set<number>();
    let hasExecuted = false;
    let until = timeOf(line.first_ns);
    for (let number = line.process; !seen.has(number); ) {
      seen.add(number);
      found.push(...(this.sockets.get(number) ?? []).filter((one) => one.isInherited || !hasExecuted));
      const process = this.processes.get(number);
      if (!process) break;
      hasExecuted ||= process.execs.some((one) => hasStarted(one.result) && timeOf(one.at_ns) <= until);
      number = process.parent;
      until = timeOf(process.first_ns);
    }
    return found;
  }
}

function hasStarted(result: string): boolean {
  return result === "ok" || result === "unknown";
}

/** The resolver gives addresses of IPv4 to datagram sockets of IPv6. */
function takes(socket: Socket, family: string): boolean {
  if (socket.family === undefined || socket.family === family) return true;
  return socket.isDatagram && socket.family === "inet6" && family === "inet";
}

function socketOf(line: Line): Socket {
  const [family = "", type = ""] = (line.path ?? "").split(":");
  const number = /^\d+$/.test(type) ? Number(type) : 0;
  return {
    family: lookup(FAMILIES, family),
    isDatagram: DATAGRAM.includes(number & TYPE_BITS),
    isInherited: (number & CLOSED_BY_EXEC) === 0,
    first: timeOf(line.first_ns),
  };
}
