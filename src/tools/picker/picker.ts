/** Picks the endpoints of requests for a gateway that forwards them itself (docs/how-to/picker.md). */
export interface EndpointPicker {
  /** Returns at once, unless a large body has to be read in another thread. Does not reject for anything in the body. */
  readonly pick: (ask: PickAsk) => PickAnswer | Promise<PickAnswer>;
}

export interface PickAsk {
  /** Who asks: the identity in the certificate of the gateway, or its address. What it reports decides its own picks only. */
  readonly sender: string;
  /** The path with the query, if there is one. */
  readonly path: string;
  /** Undefined: the request has none, or it is not known. */
  readonly body: Uint8Array | undefined;
  /** The endpoints to pick from, as `address:port`, or as an address that stands for all of its ports. Undefined: all of the pool. */
  readonly subset: readonly string[] | undefined;
}

export type PickAnswer =
  | {
      readonly kind: 'picked';
      /** As `address:port`: the endpoint, and those to ask next if it fails, in this order. */
      readonly endpoints: readonly string[];
      /** Call its functions as the request goes on, and `ended` in any case. */
      readonly answer: AnswerWatch;
    }
  /** 503: there is no endpoint. 429: the request would wait too long at each of them. */
  | { readonly kind: 'refused'; readonly status: 429 | 503; readonly message: string };

/** Follows the answer to a request on its way through the gateway. */
export interface AnswerWatch {
  readonly head: (head: AnswerHead) => void;
  /** A piece of the body. It may end anywhere. */
  readonly body: (piece: Uint8Array) => void;
  /** Call once. `broken`: the gateway has left before the answer was complete; the reason is not known. */
  readonly ended: (how: 'complete' | 'broken') => void;
}

export interface AnswerHead {
  readonly status: number;
  /** First value of a header, by lowercase name. */
  readonly header: (name: string) => string | undefined;
  /** The endpoint that has answered. Undefined: the gateway does not say. */
  readonly served: string | undefined;
}
