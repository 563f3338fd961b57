import type { Failure } from './failure.ts';

/** An upload is charged in steps of so many bytes, and its memory grows in them. */
export const uploadStepBytes = 64 * 1024;

/** The account of one request body: what of it is held in memory, and whether it keeps arriving. */
export interface Upload {
  /** Waits for its bytes from now on. `expire` is called at most once, when they stay away for too long. */
  readonly begin: (expire: (failure: Failure) => void) => void;
  /** So many bytes have arrived in all, which will take so much memory. Throws the refusal when that is more than a bound allows. */
  readonly hold: (arrivedBytes: number, memoryBytes: number) => void;
  /** All has arrived: its time no longer counts, its memory does. */
  readonly complete: () => void;
  /** Nothing of it is held any more. Further calls do nothing. */
  readonly close: () => void;
}

/** Whose upload it is. */
export interface UploadOwner {
  readonly workspaceId: string;
  /** Absent where nobody told it. */
  readonly address: string | undefined;
}

/** Which bound ended an upload: its owner's bytes, all bytes, or its time. */
export type UploadBound = 'workspace' | 'address' | 'total' | 'time';
