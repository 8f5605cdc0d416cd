// The panels in the order of their tabs. One more panel is one more line.
import type { Panel } from "../panel";
import { calls } from "./calls/index";
import { events } from "./events/index";
import { files } from "./files/index";
import { health } from "./health/index";
import { network } from "./network/index";
import { processes } from "./processes/index";
import { terminal } from "./terminal/index";
import { timeline } from "./timeline/index";

export const panels: Panel[] = [timeline, processes, files, network, terminal, calls, events, health];
