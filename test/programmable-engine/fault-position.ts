import { type Directive, DirectiveError } from './directive.ts';
import { isJsonObject } from './json-value.ts';

/**
 * Where in an answer a fault strikes. Events are `data:` events wholly sent, the role chunk and `[DONE]` included;
 * bytes are bytes of the response body, before any compression. A JSON answer has no events: any number above 0 means half-way
 * through its body.
 */
export type FaultPosition =
  | 'before-headers'
  | 'after-headers'
  | { readonly events: number }
  | { readonly bytes: number };

/** Reads a fault position. */
export const faultPosition: Directive<FaultPosition> = {
  accepts: '`before-headers`, `after-headers`, `{"events": n}`, `{"bytes": n}`',
  meaning: 'Position of the fault; default `after-headers`.',
  read: (value) => {
    if (value === 'before-headers' || value === 'after-headers') return value;
    if (isJsonObject(value)) {
      const { events, bytes } = value;
      if (isCount(events) && bytes === undefined) return { events };
      if (isCount(bytes) && events === undefined) return { bytes };
    }
    throw new DirectiveError('before-headers, after-headers, {"events": n} or {"bytes": n}');
  },
};

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0;
