import type {
  ContinuationMark,
  Feature,
  InlineReasoningNames,
  ReasoningControl,
  ScoreScale,
  StructuredFormat,
  SystemMessages,
  ToolChoiceForm,
} from './capability.ts';
import type { EndpointSource, HostPort } from './endpoint.ts';
import { type EngineName, providerEngines } from './engine-name.ts';
import type { Headers } from './headers.ts';
import type { ModelPatterns } from './model-patterns.ts';
import type { Prices } from './money.ts';
import type { ParameterName, Sampling } from './parameters.ts';
import type { ReasoningAsk, ReasoningEffort } from './request.ts';

export const modalities = ['text', 'image'] as const;
type Modality = (typeof modalities)[number];

/**
 * The data that Envoy needs to reach a backend. The name is a digest of the content without the endpoints. So a new
 * cluster replaces the old one when anything but its endpoints changes.
 */
export interface Cluster {
  readonly name: string;
  /** Name of the Backend that the cluster was made from, for operators' metrics. */
  readonly backend: string;
  readonly endpoints: EndpointSource;
  readonly tls: { readonly mode: 'Disabled' } | VerifiedTls;
  /** Host header of requests and health checks. Absent: the endpoint's own. */
  readonly host?: string | undefined;
  /** The forward proxy on the way to the endpoints. `authorization`: its credentials, a secret. */
  readonly proxy?: (HostPort & { readonly authorization?: string | undefined }) | undefined;
  readonly healthCheck?: { readonly path: string; readonly intervalSeconds: number } | undefined;
  /**
   * Calls to this cluster name no endpoint, and Envoy chooses one. Absent: calls name an endpoint, and the service
   * watches the health of each endpoint.
   */
  readonly endpointsUnnamed?: true;
  /** Requests that Envoy lets through at once; the egress listener refuses further ones and does not queue them. */
  readonly maxConcurrentRequests?: number | undefined;
}

type VerifiedTls = ({ readonly mode: 'System' } | { readonly mode: 'Custom'; readonly ca: string }) & {
  readonly serverName: string;
  /** PEM of the certificate that is shown to the engine. The key is a secret: it is never logged. */
  readonly client?: { readonly certificate: string; readonly key: string } | undefined;
};

/** Limits of an engine's silence, milliseconds. Absent: those of the service. */
export interface Timeouts {
  readonly firstOutputMs?: number | undefined;
  readonly idleMs?: number | undefined;
}

/** The part of a request that an operator may set where the caller left it open, or bound. */
export interface RequestValues {
  readonly sampling: Sampling;
  readonly maxOutputTokens?: number | undefined;
  readonly reasoning?: ReasoningAsk | undefined;
}

/** Serving capacity: one engine deployment behind one Envoy cluster. */
export interface Backend {
  readonly name: string;
  readonly engine: EngineName;
  readonly cluster: Cluster;
  /** Path prefix before `/chat/completions`, such as `/v1`; never ends with a slash. */
  readonly path: string;
  /** Headers of every request: the credential, then the others. Secrets: they are never logged. */
  readonly headers?: Headers | undefined;
  /** Query of every request, such as `?api-version=1`. A secret, as the headers are. */
  readonly query?: string | undefined;
  readonly timeouts?: Timeouts | undefined;
  /** Values for what a caller leaves open. */
  readonly defaults?: RequestValues | undefined;
  /** Upper bounds. A lower value of the caller's stays. */
  readonly bounds?: RequestValues | undefined;
  /** Most attempts at a time, on all endpoints together. The field below limits the attempts on each endpoint. */
  readonly maxConcurrentRequests?: number | undefined;
  readonly maxConcurrentRequestsPerEndpoint?: number | undefined;
}

/** Whether a backend is the service of a provider: all its addresses lead to this one service, which has a public certificate. */
export const isProvider = ({ engine, cluster }: Pick<Backend, 'engine' | 'cluster'>): boolean =>
  providerEngines.has(engine) || (engine === 'openai' && cluster.tls.mode === 'System');

/** The entries of an engine's capability table that an operator may override, per route. */
export interface CapabilityOverrides {
  readonly tools?: boolean;
  readonly responseFormats?: readonly StructuredFormat[];
  /** Whether tools work on a stream, if that differs from `tools`. */
  readonly streamedTools?: boolean;
  /** The formats that work on a stream, if they differ from `responseFormats`. */
  readonly streamedResponseFormats?: readonly StructuredFormat[];
  readonly parameters?: readonly ParameterName[];
  readonly toolChoice?: readonly ToolChoiceForm[];
  readonly conflicts?: readonly (readonly Feature[])[];
  readonly reasoning?: Partial<ReasoningControl>;
  readonly inlineReasoning?: InlineReasoningNames;
  readonly systemMessages?: SystemMessages;
  readonly continuation?: boolean;
  readonly continuationMark?: Exclude<ContinuationMark, 'none'>;
  readonly rerankScores?: ScoreScale;
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

const routeKeys = new WeakMap<Route, string>();

/**
 * Names a route across snapshots, each of which has new objects for the same routes. When the backend of a route gets another
 * cluster, the route gets another key, because what is known of the old backend says nothing about the new one.
 */
export function routeKey(route: Route): string {
  return routeKeys.getOrInsertComputed(route, ({ id, backend }) => `${id} ${backend.cluster.name}`);
}

/** Whether the route gets a request only when no route with a weight can serve it. */
export const isStandby = ({ weight }: Pick<Route, 'weight'>): boolean => weight === 0;

/** Whether a model reasons, and whether reasoning can be switched off. */
export const reasoningModes = ['None', 'Optional', 'Always'] as const;

/** Whose prompts may share what an engine has in its prefix cache: those of one workspace, or all. */
export const cacheSharings = ['Workspace', 'All'] as const;

/** What a model makes: answers, vectors of texts, or an order of documents. */
export const modelKinds = ['chat', 'embedding', 'rerank'] as const;
export type ModelKind = (typeof modelKinds)[number];

/** The vectors of a model. */
export interface EmbeddingFacts {
  /** Length of a vector. */
  readonly dimensions: number;
  /** Shorter lengths that callers may ask for. */
  readonly shorterDimensions: readonly number[];
  /** Most inputs of one call to an engine. Undefined: as the engine's table says. */
  readonly maxInputs?: number | undefined;
  /** A route whose vectors have a smaller cosine to those of the model's reference is not served. */
  readonly minSimilarity: number;
  /** Callers may send lists of the model's own token ids in place of texts. */
  readonly tokenIds: boolean;
}

export interface RerankFacts {
  /** Most documents of one call to an engine. Undefined: as the engine's table says. */
  readonly maxDocuments?: number | undefined;
}

/** An entry of the catalog, compiled. docs/reference/api.md §2.1. */
export interface Model {
  /** Lowercase `<org>/<model>`. */
  readonly id: string;
  /** Other names, as declared. `Snapshot.aliases` has the aliases that take effect. */
  readonly aliases: readonly string[];
  readonly ownedBy: string;
  /** Unix seconds when the model joined the catalog. */
  readonly added: number;
  /** Absent: chat. Read it with `kindOfModel`. */
  readonly kind?: ModelKind | undefined;
  readonly embedding?: EmbeddingFacts | undefined;
  readonly rerank?: RerankFacts | undefined;
  /** Tokens of prompt and output together; of one input for embedding models, of the query and one document for rerank models. */
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
        /** Tokens that an image adds to the text that the template writes for it. */
        readonly tokensPerImage?: number | undefined;
      }
    | undefined;
  readonly hedging: 'Disabled' | 'Auto';
  readonly cacheSharing: (typeof cacheSharings)[number];
  readonly serviceLevel?:
    | {
        readonly minAvailability: number;
        readonly windowSeconds: number;
        /** A request that would wait longer for its first token is refused. Absent: none is. */
        readonly firstTokenMs?: number | undefined;
      }
    | undefined;
  readonly routes: readonly Route[];
}

export const kindOfModel = ({ kind = 'chat' }: Pick<Model, 'kind'>): ModelKind => kind;

/** The compiled catalog: read-only, swapped whole. */
export interface Snapshot {
  /** Digest of the content. */
  readonly version: string;
  readonly models: ReadonlyMap<string, Model>;
  /** The id of a model by its alias. No alias is the id of a model. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly clusters: readonly Cluster[];
}

/** The model with this id or alias, in lower case. */
export function modelNamed({ models, aliases }: Pick<Snapshot, 'models' | 'aliases'>, name: string): Model | undefined {
  return models.get(name) ?? models.get(aliases.get(name) ?? '');
}

export interface ModelList {
  /** The body of `GET /v1/models`, with only the models that a key may call. Undefined: all. */
  readonly modelList: (models: ModelPatterns | undefined) => string;
  /** One entry of that list, as JSON. Undefined: the list does not have it. */
  readonly modelEntry: (id: string, models: ModelPatterns | undefined) => string | undefined;
}

/** One object as its source delivered it, before validation. */
export interface CatalogObject {
  /** Where its author finds it, such as `models/qwen.yaml#2` or `Model/qwen3-8b`. */
  readonly where: string;
  readonly value: unknown;
  /** The line of a field, or of its nearest existing parent. Absent if the source has no lines. */
  readonly lineOf?: (path: readonly PropertyKey[]) => number | undefined;
}

/** A fault of one object or file of the catalog, in words for its author. Never contains a value of a Secret. */
export interface CatalogProblem {
  /** File (document, line) or object the problem is in: `models/qwen.yaml#2:14` or `Model/qwen3-8b`. */
  readonly where: string;
  /** Path of the field at fault: `spec.routes[0].backend`; empty when it is the whole document. */
  readonly field: string;
  readonly message: string;
  /** `Backend/vllm-a`: the object with the problem. Set only if its file is not compiled. */
  readonly object?: string | undefined;
}

/** An object of ours in a Kubernetes cluster, of the catalog by default: its declaration and the API server's metadata. */
export interface KubeObject<Kind extends string = 'Model' | 'Backend'> {
  readonly kind: Kind;
  readonly name: string;
  /** Different for every object, even if a later object has the same name. */
  readonly uid: string;
  /** Rises with every change of the declaration. */
  readonly generation: number;
  /** Changes with every change of the object, also of its status. */
  readonly resourceVersion: string;
  /** When its deletion was requested; it exists until its last finalizer is removed. */
  readonly deletedAt?: string | undefined;
  readonly finalizers: readonly string[];
  /** Only the annotations of `weir.dev`. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly status: unknown;
  /** Its declaration. The same object as long as the declaration does not change, even if the status does. */
  readonly declared: CatalogObject;
}

/** Something about an object that a person should notice, in the form of a Kubernetes Event. */
export interface ObjectEvent {
  readonly severity: 'Normal' | 'Warning';
  /** The reason as one word, for programs. */
  readonly reason: string;
  /** What the controller did when it noticed. */
  readonly action: string;
  readonly note: string;
}

/** The announced retirement of a model, and when it was first seen. Milliseconds since the epoch. */
export interface Announcement {
  readonly announcedAt: number;
  /** The announced `spec.retireAt`. Absent: the deletion of the model was announced. */
  readonly announcedFor?: number | undefined;
}
