import { type ComponentType, type ReactNode, useSyncExternalStore } from 'react';

type State<Props> =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'loaded'; readonly Component: ComponentType<Props> }
  | { readonly kind: 'failed'; readonly error: Error };

/** A component whose code is loaded when it is first shown. */
export interface OnDemand<Props> {
  /** Throws if the code could not be loaded. Tries again when the component is shown again. */
  (props: Props): ReactNode;
  /** Loads the code ahead of time. A failure is shown with the component. */
  readonly preload: () => void;
}

/**
 * Makes a component whose code is loaded on demand. React's own `lazy` always renders its fallback first, also when the
 * code is loaded already. It keeps the fallback for 300 ms against flicker, which is a third of the time that a page
 * takes.
 */
export function onDemand<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  waiting: ReactNode,
): OnDemand<Props> {
  let state: State<Props> = { kind: 'waiting' };
  let isLoading = false;
  const listeners = new Set<() => void>();

  function become(next: State<Props>): void {
    state = next;
    isLoading = false;
    for (const listener of listeners) listener();
  }

  function preload(): void {
    if (isLoading || state.kind === 'loaded') return;
    isLoading = true;
    state = { kind: 'waiting' };
    load().then(
      (Component) => become({ kind: 'loaded', Component }),
      (error: unknown) => become({ kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }),
    );
  }

  function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    preload();
    return () => listeners.delete(listener);
  }

  function Shown(props: Props): ReactNode {
    const now = useSyncExternalStore(subscribe, () => state);
    switch (now.kind) {
      case 'waiting':
        return waiting;
      case 'failed':
        throw now.error;
      case 'loaded':
        return <now.Component {...props} />;
    }
  }

  return Object.assign(Shown, { preload });
}
