import type { PoolPrompt } from '../../core/pool-prompt.ts';

/** What a replica reports to the others: the changes since its last report. */
export interface PoolReport {
  readonly endpoints: readonly ReportedEndpoint[];
  readonly sent: readonly SentPrompt[];
}

/** The endpoint of a pool. Both names are the same in all replicas. */
export interface PoolPlace {
  readonly pool: string;
  readonly endpoint: string;
}

/** Work that an endpoint has to do. */
export interface EndpointWork {
  /** Prompt tokens that the endpoint was sent and has not computed yet, as far as is known. */
  readonly aheadTokens: number;
  /** Attempts that have not ended. */
  readonly underWay: number;
}

/** What a replica has learned of the size of an endpoint's cache. */
export interface CapacityReport {
  /** Reports of engines that were larger than expected, less those that were smaller, since the last report of the replica. */
  readonly steps: number;
  readonly capacityTokens: number;
}

/**
 * All work of one replica on an endpoint. A report that is lost does no lasting harm, because the next one has the whole amount
 * again.
 */
export interface EndpointReport extends EndpointWork, CapacityReport {}

export interface ReportedEndpoint extends PoolPlace, EndpointReport {}

export interface SentPrompt extends PoolPlace {
  readonly prompt: PoolPrompt;
}

/** What the replicas know of each other's work, for the program that carries the reports. */
export interface PoolReports {
  /** Whether something has to be reported, or has to be reported again so that the others do not forget it. */
  readonly hasReport: (now: number) => boolean;
  /** Takes the changes since the last report. */
  readonly takeReport: (now: number) => PoolReport;
  /** Another replica has reported. */
  readonly heard: (now: number, replica: string, report: PoolReport) => void;
  /** Forgets the work of replicas that are silent for too long. */
  readonly forgetSilent: (now: number) => void;
}
