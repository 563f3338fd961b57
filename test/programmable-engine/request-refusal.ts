/** The engine will not do what the request asks. The reply's shape is chosen later, by `errorBody`. */
export class RequestRefusal extends Error {
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  /** The exact JSON of the reply, where the engine has a form of its own for it. */
  readonly body: unknown;

  constructor(
    message: string,
    detail: { readonly status?: number; readonly type?: string; readonly param?: string; readonly body?: unknown } = {},
  ) {
    super(message);
    this.status = detail.status ?? 400;
    this.type = detail.type ?? 'BadRequestError';
    this.param = detail.param ?? null;
    this.body = detail.body;
  }
}
