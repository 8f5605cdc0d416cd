// The pages of `steno serve` that are no report. One more page is one more line.
import type { Page } from "../panel";
import { drawCompare } from "./compare";
import { drawList } from "./list";
import { drawLive } from "./live";

export type Draw = (host: HTMLElement, page: Page) => void;

export const pages: Partial<Record<Page["kind"], Draw>> = { list: drawList, live: drawLive, compare: drawCompare };
