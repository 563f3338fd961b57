import { type Behaviour, type Fault, faultOf } from './behaviour.ts';
import { createBodyWriter } from './body-writer.ts';
import { framingOf } from './event-framing.ts';
import { strikeOf } from './fault-strike.ts';
import type { JsonObject } from './json-value.ts';
import { pauseAlive } from './living-pause.ts';
import type { Wire } from './wire.ts';

/** What a delivery needs besides the answer. */
export interface DeliveryOptions {
  readonly behaviour: Behaviour;
  readonly headers: Readonly<Record<string, string>>;
  readonly names: { readonly engine: string; readonly model: string };
  /** Wait before the first token of the answer. */
  readonly firstTokenMs: number;
}

/** Sends the chunks as an event stream, at the pace and with the faults asked for. Resolves when nothing more will come. */
export async function deliverStream(wire: Wire, chunks: Iterable<JsonObject>, options: DeliveryOptions): Promise<void> {
  const { behaviour } = options;
  const framing = framingOf(behaviour);
  const sign = behaviour.keepAlive === 'blank-line' ? framing.blankLine : framing.comment;
  const fault = faultOf(behaviour);
  const alive = behaviour.keepAliveMs === undefined ? undefined : { everyMs: behaviour.keepAliveMs, sign };
  const strike = strikeOf(wire, fault, { ...options, alive });
  const body = createBodyWriter(wire, behaviour, { fault, strike });
  const wait = async (ms: number): Promise<void> => {
    if (ms <= 0) return;
    await body.flush();
    await pauseAlive(wire, ms, alive);
  };
  const perWrite = behaviour.eventsPerWrite ?? (behaviour.bytes === undefined ? 1 : 16);
  const eventFault = typeof fault?.at === 'object' && 'events' in fault.at;

  await wire.pause(behaviour.headersDelayMs ?? 0);
  if (fault?.at === 'before-headers' && !(await strike(new Uint8Array()))) return;
  // A fault that writes into the body has sent some.
  if (!wire.headSent()) {
    wire.sendHead(200, {
      'content-type': behaviour.contentType ?? 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...options.headers,
    });
  }
  if (strikesAtOnce(fault) && !(await strike(new Uint8Array()))) return;
  await wait(options.firstTokenMs);

  let glued = '';
  let count = 0;
  let first = true;
  for (const chunk of chunks) {
    if (!first && (behaviour.tokenDelayMs ?? 0) > 0) {
      if (glued !== '' && !(await body.write(glued))) return;
      glued = '';
      await wait(behaviour.tokenDelayMs ?? 0);
    }
    first = false;
    if (wire.closed()) return;
    glued += framing.event(JSON.stringify(chunk));
    count += 1;
    if (count % perWrite === 0 || eventFault) {
      if (!(await body.write(glued))) return;
      glued = '';
      if (!(await body.eventDone())) return;
    }
    // A long answer without pauses must not keep the others waiting.
    if (count % 64 === 0) await wire.nextTurn();
  }
  const done = behaviour.done === 'absent' ? '' : framing.done;
  if (!(await body.write(glued + done))) return;
  if (!(await body.eventDone())) return;
  await body.flush();
  await wire.end();
}

/** Sends a JSON body. Its headers carry the length unless something keeps it from being known. */
export async function deliverJson(
  wire: Wire,
  json: { readonly parts: Iterable<string>; readonly tokens: number },
  options: DeliveryOptions,
): Promise<void> {
  const { behaviour } = options;
  const alive = behaviour.keepAliveMs === undefined ? undefined : { everyMs: behaviour.keepAliveMs, sign: '\n' };
  const whole = behaviour.bytes === undefined ? [...json.parts].join('') : undefined;
  const fault = halfWay(faultOf(behaviour), whole);
  const strike = strikeOf(wire, fault, { ...options, alive });
  const body = createBodyWriter(wire, behaviour, { fault, strike });
  const thinkingMs = options.firstTokenMs + (behaviour.tokenDelayMs ?? 0) * json.tokens;

  await wire.pause((behaviour.headersDelayMs ?? 0) + (alive === undefined ? thinkingMs : 0));
  if (fault?.at === 'before-headers' && !(await strike(new Uint8Array()))) return;
  const sized = whole !== undefined && alive === undefined && behaviour.gzip !== true && isPlain(fault);
  if (!wire.headSent()) {
    wire.sendHead(200, {
      'content-type': behaviour.contentType ?? 'application/json',
      ...(sized ? { 'content-length': Buffer.byteLength(whole) } : {}),
      ...options.headers,
    });
  }
  if (strikesAtOnce(fault) && !(await strike(new Uint8Array()))) return;
  if (alive !== undefined) await pauseAlive(wire, thinkingMs, alive);
  for (const part of whole === undefined ? json.parts : [whole]) {
    if (!(await body.write(part))) return;
  }
  await body.flush();
  await wire.end();
}

/** Faults that add bytes, or that cut a chunk, need a body without a declared length. */
const isPlain = (fault: Fault | undefined): boolean =>
  fault === undefined || fault.kind === 'cut' || fault.kind === 'reset' || fault.kind === 'stall';

const strikesAtOnce = (fault: Fault | undefined): boolean =>
  fault?.at === 'after-headers' || (typeof fault?.at === 'object' && 'events' in fault.at && fault.at.events === 0);

/** A JSON answer has no events; a fault after some of them strikes half-way through its body. */
function halfWay(fault: Fault | undefined, whole: string | undefined): Fault | undefined {
  if (fault === undefined || typeof fault.at !== 'object' || !('events' in fault.at) || fault.at.events === 0)
    return fault;
  return { kind: fault.kind, at: { bytes: Math.floor(Buffer.byteLength(whole ?? '') / 2) } };
}
