/** When a model's retirement was first seen, and which one that was. Milliseconds since the epoch. */
export interface Announcement {
  readonly announcedAt: number;
  /** The `spec.retireAt` that was announced; absent: it was the deletion. */
  readonly announcedFor?: number;
}
