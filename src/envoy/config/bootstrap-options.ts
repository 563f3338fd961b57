import type { ConnectionLimits } from './connection-limits.ts';
import type { EdgeCertificate } from './edge-certificate.ts';

/** What an operator decides about Envoy. Everything else follows from the design. */
export interface BootstrapOptions {
  /** Folder of the sockets and of the clusters file; see run-folder.ts. */
  readonly runFolder: string;
  readonly edge: {
    readonly address: string;
    /** 0 lets the kernel choose; Envoy's admin `/listeners` then tells which. */
    readonly port: number;
    /** With it the edge speaks TLS only. `renderEdgeCertificate` of it must be in the run folder before Envoy starts. */
    readonly tls?: EdgeCertificate;
  };
  /** Where probes and Prometheus reach Envoy, if anywhere (ops-listener.ts). */
  readonly ops?: { readonly address: string; readonly port: number };
  /** Where the Envoy of somebody else reaches the service, if any does (ext-proc-listener.ts). */
  readonly extProc?: { readonly address: string; readonly port: number };
  /** Proxies in front that append to `x-forwarded-for` and are believed. 0: the peer is the client. */
  readonly trustedHops: number;
  /** Requests per client address on every path. Default 5,000 a second, burst 10,000. */
  readonly flood?: { readonly perSecond: number; readonly burst: number };
  /** `GET /v1/models` per client address (docs/reference/api.md §8). Default 60 a minute, burst 120. */
  readonly models?: { readonly perMinute: number; readonly burst: number };
  /** Limits of one caller's connections; none by default. With some, the module must be in the run folder before Envoy starts. */
  readonly connections?: ConnectionLimits;
  /** Open client connections of the whole process. */
  readonly maxConnections: number;
  /** Heap at which Envoy sheds load; it starts to save memory a little below. */
  readonly heapBytes: number;
}
