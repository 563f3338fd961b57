/** What the main thread asks of a thread that checks: one at a time. */
export interface CheckTask {
  readonly text: string;
  /** The schema as JSON text: it is its own key in the thread's cache. */
  readonly schema?: string;
  readonly top: 'object' | 'any';
}
