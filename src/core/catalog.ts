import type {
  ContinuationMark,
  Feature,
  InlineReasoningNames,
  ReasoningControl,
  StructuredFormat,
  SystemMessages,
  ToolChoiceForm,
} from './capability.ts';
import type { EndpointSource } from './endpoint.ts';
import { type EngineName, providerEngines } from './engine-name.ts';
import type { Prices } from './money.ts';
import type { ParameterName } from './parameters.ts';
import type { ReasoningEffort } from './request.ts';

export const modalities = ['text', 'image'] as const;
type Modality = (typeof modalities)[number];

/**
 * The data that Envoy needs to reach a backend. The name is a digest of the content without the endpoints: a cluster
 * with any other change is a new cluster.
 */
export interface Cluster {
  readonly name: string;
  /** Name of the Backend it was made from, for operators' metrics. */
  readonly backend: string;
  readonly endpoints: EndpointSource;
  readonly tls:
    | { readonly mode: 'Disabled' }
    | { readonly mode: 'System'; readonly serverName: string }
    | { readonly mode: 'Custom'; readonly serverName: string; readonly ca: string };
  readonly healthCheck?: { readonly path: string; readonly intervalSeconds: number } | undefined;
  /**
   * Calls to it name no endpoint, and Envoy chooses one. Absent: calls name an endpoint, and the service watches the
   * health of each.
   */
  readonly endpointsUnnamed?: true;
  /** Requests that Envoy lets through at once; the egress listener refuses further ones and does not queue them. */
  readonly maxConcurrentRequests?: number | undefined;
}

/** Serving capacity: one engine deployment behind one Envoy cluster. */
export interface Backend {
  readonly name: string;
  readonly engine: EngineName;
  readonly cluster: Cluster;
  /** Path prefix before `/chat/completions`, such as `/v1`; never ends with a slash. */
  readonly path: string;
  /** Value of the Authorization header. A secret: it is never logged. */
  readonly authorization?: string | undefined;
  /** Attempts at a time, of all endpoints together and of each one. */
  readonly maxConcurrentRequests?: number | undefined;
  readonly maxConcurrentRequestsPerEndpoint?: number | undefined;
}

/** Whether all addresses of a backend lead to one service: that of a provider, whose certificate is a public one. */
export const isProvider = ({ engine, cluster }: Pick<Backend, 'engine' | 'cluster'>): boolean =>
  providerEngines.has(engine) || (engine === 'openai' && cluster.tls.mode === 'System');

/** What an operator may override of an engine's capability table, per route. */
export interface CapabilityOverrides {
  readonly tools?: boolean;
  readonly responseFormats?: readonly StructuredFormat[];
  /** On a stream, where that differs from `tools`. */
  readonly streamedTools?: boolean;
  /** On a stream, where that differs from `responseFormats`. */
  readonly streamedResponseFormats?: readonly StructuredFormat[];
  readonly parameters?: readonly ParameterName[];
  readonly toolChoice?: readonly ToolChoiceForm[];
  readonly conflicts?: readonly (readonly Feature[])[];
  readonly reasoning?: Partial<ReasoningControl>;
  readonly inlineReasoning?: InlineReasoningNames;
  readonly systemMessages?: SystemMessages;
  readonly continuation?: boolean;
  readonly continuationMark?: Exclude<ContinuationMark, 'none'>;
}

/** One model on one backend. */
export interface Route {
  /** `<model>@<backend>`, unique in a snapshot. For operators only. */
  readonly id: string;
  readonly backend: Backend;
  readonly upstreamModel: string;
  /** Its share of the requests, relative to the other routes of the model. 0: a standby. */
  readonly weight: number;
  readonly capabilities: CapabilityOverrides;
}

/** Whether the route is asked only where no route with a weight can take the request. */
export const isStandby = ({ weight }: Pick<Route, 'weight'>): boolean => weight === 0;

/** Whether a model reasons, and whether reasoning can be switched off. */
export const reasoningModes = ['None', 'Optional', 'Always'] as const;

/** An entry of the catalog, compiled. docs/reference/api.md §2.1. */
export interface Model {
  /** Lowercase `<org>/<model>`. */
  readonly id: string;
  /** Other names, as they are declared; `Snapshot.aliases` has those that count. */
  readonly aliases: readonly string[];
  readonly ownedBy: string;
  /** Unix seconds when it joined the catalog. */
  readonly added: number;
  readonly contextLength: number;
  readonly inputModalities: readonly Modality[];
  readonly prices: Prices;
  readonly reasoning: {
    readonly mode: (typeof reasoningModes)[number];
    readonly efforts: readonly ReasoningEffort[];
  };
  readonly tokenizer?:
    | {
        /** Folder under the tokenizer root. */
        readonly path: string;
        /** Tokens an image adds to what the template writes for it. */
        readonly tokensPerImage?: number | undefined;
      }
    | undefined;
  readonly hedging: 'Disabled' | 'Auto';
  readonly serviceLevel?: { readonly minAvailability: number; readonly windowSeconds: number } | undefined;
  readonly routes: readonly Route[];
}

/** The compiled catalog: read-only, swapped whole. */
export interface Snapshot {
  /** Digest of the content. */
  readonly version: string;
  readonly models: ReadonlyMap<string, Model>;
  /** The id of a model by its alias. No alias is the id of a model. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly clusters: readonly Cluster[];
}

/** The model that a request names in lower case, by its id or an alias. */
export function modelNamed({ models, aliases }: Pick<Snapshot, 'models' | 'aliases'>, name: string): Model | undefined {
  return models.get(name) ?? models.get(aliases.get(name) ?? '');
}

/** One object as its source delivered it, before validation. */
export interface CatalogObject {
  /** Where its author finds it, such as `models/qwen.yaml#2` or `Model/qwen3-8b`. */
  readonly where: string;
  readonly value: unknown;
  /** The line of a field, or of its nearest existing parent. Only sources made of text know lines. */
  readonly lineOf?: (path: readonly PropertyKey[]) => number | undefined;
}

/** What is wrong with one object or file of the catalog, for its author. Never holds a value of a Secret. */
export interface CatalogProblem {
  /** File (document, line) or object the problem is in: `models/qwen.yaml#2:14` or `Model/qwen3-8b`. */
  readonly where: string;
  /** Path of the field at fault: `spec.routes[0].backend`; empty when it is the whole document. */
  readonly field: string;
  readonly message: string;
  /** `Backend/vllm-a`: the object with the problem, if its file is not compiled. */
  readonly object?: string | undefined;
}

/** A Model or Backend in a Kubernetes cluster: its declaration, and what else the API server knows of it. */
export interface KubeObject {
  readonly kind: 'Model' | 'Backend';
  readonly name: string;
  /** Different for every object, also for one with the same name. */
  readonly uid: string;
  /** Rises with every change of what it declares. */
  readonly generation: number;
  /** Changes with every change. */
  readonly resourceVersion: string;
  /** When its deletion was requested; it exists until its last finalizer is removed. */
  readonly deletedAt?: string | undefined;
  readonly finalizers: readonly string[];
  /** Those of `weir.dev`. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly status: unknown;
  /** Its declaration. The same object as long as the declaration does not change, even if the status does. */
  readonly declared: CatalogObject;
}

/** Something about an object that a person should notice, in the form of a Kubernetes Event. */
export interface ObjectEvent {
  readonly severity: 'Normal' | 'Warning';
  /** One word for programs. */
  readonly reason: string;
  /** What the controller did when it noticed. */
  readonly action: string;
  readonly note: string;
}

/** When a model's retirement was first seen, and which one that was. Milliseconds since the epoch. */
export interface Announcement {
  readonly announcedAt: number;
  /** The announced `spec.retireAt`. Absent: the deletion of the model was announced. */
  readonly announcedFor?: number | undefined;
}
