/** The parts of a textlint context that this rule uses. */
interface Context {
  readonly Syntax: { readonly Header: string };
  readonly RuleError: new (message: string) => object;
  getSource(node: unknown): string;
  report(node: unknown, error: object): void;
}

const opening =
  /^(?:what|which|who|whose|that|where|when|why|if|whether|how(?! (?:Weir|to)\b)|(?:from|by|with|of) what)\b/i;
const verb = /\b(?:is|are|was|were|has|have|had|does|did|can|may|must|will|would|should|comes?|goes|gets)\b/i;
/** The title of a page in docs/decisions states its decision. */
const decision = /^\d{4} /;

/** A heading is a noun or a task ("Failover", "Rotate a key"), never a clause ("What becomes of one request"). */
export default (context: Context): Readonly<Record<string, (node: unknown) => void>> => ({
  [context.Syntax.Header](node) {
    const text = context.getSource(node).replace(/^#+\s*/, '');
    const words = text.replaceAll(/`[^`]*`/g, '');
    if (text.endsWith('?') || decision.test(text) || !(opening.test(words) || verb.test(words))) return;
    context.report(node, new context.RuleError(`"${text}" is a clause: write a noun or a task`));
  },
});
