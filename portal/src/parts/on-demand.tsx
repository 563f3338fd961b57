import { type ComponentType, type ReactNode, useEffect } from 'react';
import { storeOf, useStore } from '../data/store.ts';

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
  const state = storeOf<State<Props>>({ kind: 'waiting' });
  let isLoading = false;

  function become(next: State<Props>): void {
    isLoading = false;
    state.set(next);
  }

  function preload(): void {
    if (isLoading || state.get().kind === 'loaded') return;
    isLoading = true;
    if (state.get().kind === 'failed') state.set({ kind: 'waiting' });
    load().then(
      (Component) => become({ kind: 'loaded', Component }),
      (error: unknown) => become({ kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }),
    );
  }

  function Shown(props: Props): ReactNode {
    const now = useStore(state);
    useEffect(preload, []);
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
