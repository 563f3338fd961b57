/** What was thrown, in words for a log line or a sentence of ours. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
