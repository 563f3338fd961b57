import type { UpstreamListener } from '../../src/gateway/core/upstream.ts';

/** A call of a service, as the program sees it that answers. */
export interface Connection {
  readonly listener: UpstreamListener;
  /** Runs after the way back through the network; drops what comes after the end. */
  readonly deliver: (run: () => void) => void;
  readonly isOver: () => boolean;
  readonly end: () => void;
  readonly onClose: (run: () => void) => void;
  readonly untilReady: () => Promise<void>;
}
