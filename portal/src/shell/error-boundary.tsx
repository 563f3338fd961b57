import { Component, type PropsWithChildren, type ReactNode } from 'react';
import { Problem } from '../parts/states.tsx';

interface State {
  readonly error: Error | undefined;
}

/** Shows the error in place of an empty window. Code that could not be loaded, for example after an upgrade, needs a reload. */
export class ErrorBoundary extends Component<PropsWithChildren, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    return this.state.error === undefined ? (
      this.props.children
    ) : (
      <Problem error={this.state.error} retry={() => location.reload()} />
    );
  }
}
