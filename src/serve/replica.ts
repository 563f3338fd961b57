export interface ReplicaParts {
  readonly todo?: never;
}
export interface Replica {
  readonly changed: () => void;
  readonly isLeading: () => boolean;
  readonly close: () => Promise<void>;
}
