/** An operator's command that cannot be done as asked. The message is a sentence for the operator. */
export class Refusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Refusal';
  }
}
