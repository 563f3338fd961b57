// What a browser has and jsdom lacks, and the state that a test must not leave to the next one.
import '@testing-library/jest-dom/vitest';
import { cleanup, configure } from '@testing-library/react';
import { afterEach, beforeEach, vi } from 'vitest';
import { stuckAfterMs } from '../../../test/support/stuck-after.ts';

configure({ asyncUtilTimeout: stuckAfterMs });

/** Layout does not exist in jsdom, so no box ever changes its size. */
class QuietResizeObserver implements ResizeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

/** The stream of events of a page. A test sends events through `emit`. */
class SilentEventSource extends EventTarget {
  static readonly CLOSED = 2;
  readonly readyState = 1;
  constructor() {
    super();
    streams.add(this);
  }
  close(): void {
    streams.delete(this);
  }
}

const streams = new Set<EventTarget>();

/** Sends an event of the portal to the page. */
export function emit(name: string, data: unknown): void {
  for (const stream of streams) stream.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
}

/** Windows are 1280 pixels wide, so the actions on a row are a menu (`parts/row-actions.tsx`). */
const windowOf1280 = (media: string): MediaQueryList =>
  Object.assign(new EventTarget(), {
    ...{ media, matches: Number(/max-width: (\d+)px/.exec(media)?.[1] ?? 0) >= 1280, onchange: null },
    ...{ addListener: () => {}, removeListener: () => {} },
  });

Element.prototype.scrollIntoView = () => {};
vi.stubGlobal('matchMedia', windowOf1280);
vi.stubGlobal('ResizeObserver', QuietResizeObserver);
vi.stubGlobal('EventSource', SilentEventSource);

beforeEach(() => {
  history.replaceState(null, '', '/');
  localStorage.clear();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});
