/** A reason not to start, in words for the operator: what is wrong, where, and what to do. */
export class StartRefusal extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartRefusal';
  }
}
