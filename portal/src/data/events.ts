import { useEffect, useRef } from 'react';
import type { EndedKind, PortalEvent, PortalEventName } from '../../../src/portal/api/events.ts';
import { apiRoot } from './api.ts';
import { useSession } from './session.ts';

/** The events that a page handles. */
export type EventHandlers = {
  readonly [Name in PortalEventName]?: (data: Extract<PortalEvent, { readonly name: Name }>['data']) => void;
};

const names: readonly PortalEventName[] = ['request', 'balance', 'health', 'missed', 'ended'];
const retryMs = 5_000;
const listeners = new Set<{ readonly current: EventHandlers }>();
let stream: EventSource | undefined;
/** Whether a stream was open before: events may have been missed since. */
let wasOpen = false;

function emit<Name extends PortalEventName>(name: Name, data: Parameters<NonNullable<EventHandlers[Name]>>[0]): void {
  for (const { current } of listeners) {
    // The compiler does not connect a name with its data when the name is a type parameter.
    const handler = current[name] as ((data: unknown) => void) | undefined;
    handler?.(data);
  }
}

/**
 * One stream for all components of a tab, and none in a hidden tab. A browser opens at most six connections to an
 * address, so a seventh tab would wait for ever.
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
    if (wasOpen) emit('missed', { events: 1 });
    wasOpen = true;
  });
  // The browser does not connect again if the answer is not a stream, for example while the database is down.
  stream.addEventListener('error', () => {
    if (stream?.readyState !== EventSource.CLOSED) return;
    stream = undefined;
    setTimeout(openOrClose, retryMs);
  });
  for (const name of names) {
    stream.addEventListener(name, (event: MessageEvent<string>) => emit(name, JSON.parse(event.data)));
  }
  // Newer tabs have opened streams in place of this one. It opens again only when this tab is shown again.
  stream.addEventListener('ended', (event: MessageEvent<string>) => {
    const { kind }: { readonly kind: EndedKind } = JSON.parse(event.data);
    if (kind === 'replaced') stream?.close();
  });
}

document.addEventListener('visibilitychange', openOrClose);

/**
 * Handles events while the component is mounted. Handlers may change from one rendering to the next. A session of an API key gets no
 * events: its pages show the state from when they were opened.
 */
export function useEvents(handlers: EventHandlers): void {
  const { role } = useSession();
  const hasEvents = role !== 'key';
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    if (!hasEvents) return;
    listeners.add(latest);
    openOrClose();
    return () => {
      listeners.delete(latest);
      openOrClose();
    };
  }, [hasEvents]);
}
