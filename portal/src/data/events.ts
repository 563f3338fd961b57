import { useEffect, useRef } from 'react';
import type { EndedKind, PortalEvent, PortalEventName } from '../../../src/portal/api/events.ts';
import { apiRoot } from './api.ts';
import { useSession } from './session.ts';

/** What a page wants to hear of. */
export type EventHandlers = {
  readonly [Name in PortalEventName]?: (data: Extract<PortalEvent, { readonly name: Name }>['data']) => void;
};

const names: readonly PortalEventName[] = ['request', 'balance', 'health', 'missed', 'ended'];
const retryMs = 5_000;
const listeners = new Set<{ readonly current: EventHandlers }>();
let stream: EventSource | undefined;
/** Whether a stream was open before, so that something may have been missed since. */
let wasOpen = false;

function tell<Name extends PortalEventName>(name: Name, data: Parameters<NonNullable<EventHandlers[Name]>>[0]): void {
  for (const { current } of listeners) {
    // The compiler loses the connection between a name and its data in a lookup by a type parameter.
    const handler = current[name] as ((data: unknown) => void) | undefined;
    handler?.(data);
  }
}

/**
 * One stream for all of a tab's readers, and none in a tab that nobody sees: a browser opens six connections to an address, and a
 * seventh tab would wait for ever.
 */
function openOrClose(): void {
  const wanted = listeners.size > 0 && document.visibilityState === 'visible';
  if (!wanted) {
    stream?.close();
    stream = undefined;
    return;
  }
  if (stream !== undefined) return;
  stream = new EventSource(`${apiRoot}/events`);
  stream.addEventListener('open', () => {
    if (wasOpen) tell('missed', { events: 1 });
    wasOpen = true;
  });
  // After an answer that is no stream, as while the database is away, a browser gives up.
  stream.addEventListener('error', () => {
    if (stream?.readyState !== EventSource.CLOSED) return;
    stream = undefined;
    setTimeout(openOrClose, retryMs);
  });
  for (const name of names) {
    stream.addEventListener(name, (event: MessageEvent<string>) => tell(name, JSON.parse(event.data)));
  }
  // Newer tabs took its place: it comes back when this tab is shown anew, and not by itself.
  stream.addEventListener('ended', (event: MessageEvent<string>) => {
    const { kind }: { readonly kind: EndedKind } = JSON.parse(event.data);
    if (kind === 'replaced') stream?.close();
  });
}

document.addEventListener('visibilitychange', openOrClose);

/**
 * Listens to what happens while the component is there. Handlers may change from one rendering to the next. An API key that has
 * signed in is told nothing: its pages show what was when they were opened.
 */
export function useEvents(handlers: EventHandlers): void {
  const { role } = useSession();
  const isTold = role !== 'key';
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    if (!isTold) return;
    listeners.add(latest);
    openOrClose();
    return () => {
      listeners.delete(latest);
      openOrClose();
    };
  }, [isTold]);
}
