import type { ChoiceAnswer } from './answer.ts';
import type { Behaviour } from './behaviour.ts';
import { inlineTagsOf } from './inline-tags.ts';
import { type JsonObject, stringOr } from './json-value.ts';
import { contentFields, mergeFields, reasoningFields } from './reasoning-delta.ts';
import { textPieces } from './text-pieces.ts';
import { type FragmentChunk, fragmentsOf } from './tool-fragments.ts';
import { bendFragments } from './tool-quirks.ts';

/** What one chunk says of one choice. */
export interface ChoiceDelta {
  readonly delta: JsonObject;
  /** Present on the chunk that ends the choice, whatever its value. */
  readonly finish?: { readonly reason: unknown };
  /** Text that is output of the model and has logprobs. */
  readonly spoken: string;
  readonly tokens: number;
  readonly reasoningTokens: number;
}

/** The deltas of one choice in order: role, reasoning, text, refusal, calls, finish; bent as the behaviour says. */
export function* choiceDeltas(choice: ChoiceAnswer, behaviour: Behaviour): Generator<ChoiceDelta> {
  const role = behaviour.roleChunk ?? 'normal';
  if (role !== 'absent') yield silent({ role: 'assistant', content: role === 'null-content' ? null : '' });
  for (const delta of withFinish(spokenDeltas(choice, behaviour), choice, behaviour)) {
    yield role === 'repeated' ? { ...delta, delta: { role: 'assistant', ...delta.delta } } : delta;
    if (behaviour.emptyChunks === true && delta.finish === undefined) yield silent({ content: '' });
  }
}

function silent(delta: JsonObject): ChoiceDelta {
  return { delta, spoken: '', tokens: 0, reasoningTokens: 0 };
}

function* withFinish(
  deltas: Iterable<ChoiceDelta>,
  choice: ChoiceAnswer,
  behaviour: Behaviour,
): Generator<ChoiceDelta> {
  const quirks = behaviour.toolQuirk ?? [];
  const joins = choice.calls.length > 0 && (quirks.includes('finish-with-last') || quirks.includes('rest-in-finish'));
  let held: ChoiceDelta | undefined;
  for (const delta of deltas) {
    if (held !== undefined) yield held;
    held = delta;
  }
  const finish = { reason: finishReasonOf(choice, behaviour) };
  if (behaviour.noFinish === true) {
    if (held !== undefined) yield held;
  } else if (joins && held !== undefined) {
    yield { ...held, finish };
  } else {
    if (held !== undefined) yield held;
    yield { ...silent({}), finish };
  }
}

/** The finish reason as sent: the honest one unless told otherwise. */
export function finishReasonOf(choice: ChoiceAnswer, behaviour: Behaviour): unknown {
  if (behaviour.finishReason !== undefined) return behaviour.finishReason;
  if (choice.calls.length > 0 && behaviour.toolQuirk?.includes('finish-stop') === true) return 'stop';
  if (choice.calls.length > 0 && behaviour.toolQuirk?.includes('finish-null') === true) return null;
  return choice.finishReason;
}

function* spokenDeltas(choice: ChoiceAnswer, behaviour: Behaviour): Generator<ChoiceDelta> {
  let held: ChoiceDelta | undefined;
  for (const delta of reasoningDeltas(choice, behaviour)) {
    if (held !== undefined) yield held;
    held = delta;
  }
  for (const delta of contentDeltas(choice, behaviour)) {
    if (held === undefined) yield delta;
    else if (behaviour.reasoningChunks === 'mixed') yield joined(held, delta);
    else yield* [held, delta];
    held = undefined;
  }
  if (held !== undefined) yield held;
  for (const { text, tokens } of textPieces(choice.refusal, behaviour)) yield { ...silent({ refusal: text }), tokens };
  yield* callDeltas(choice, behaviour);
}

function* reasoningDeltas(choice: ChoiceAnswer, behaviour: Behaviour): Generator<ChoiceDelta> {
  if (choice.reasoning === '' && !choice.reasoningOpened) return;
  const field = behaviour.reasoningField;
  const tags = inlineTagsOf(field);
  if (tags !== undefined && !choice.reasoningOpened) yield* tagDeltas(tags.open, behaviour);
  for (const { text, tokens } of textPieces(choice.reasoning, behaviour)) {
    yield { ...silent(reasoningFields(text, field)), tokens, reasoningTokens: tokens };
  }
  // A cap that cut the reasoning short left no token for the closing tag.
  const unfinished = choice.finishReason === 'length' && choice.content.length === 0 && choice.calls.length === 0;
  if (tags !== undefined && !unfinished) yield* tagDeltas(tags.close, behaviour);
}

function* tagDeltas(tag: string, behaviour: Behaviour): Generator<ChoiceDelta> {
  if (tag === '') return;
  const pieces = behaviour.reasoningChunks === 'split-tags' ? Array.from(tag) : [tag];
  for (const piece of pieces) yield silent({ content: piece });
}

function* contentDeltas(choice: ChoiceAnswer, behaviour: Behaviour): Generator<ChoiceDelta> {
  const field = behaviour.reasoningField;
  for (const { text } of textPieces(choice.echo, behaviour)) yield silent(contentFields(text, field));
  for (const { text, tokens } of textPieces(choice.content, behaviour)) {
    yield { ...silent(contentFields(text, field)), spoken: text, tokens };
  }
}

function* callDeltas(choice: ChoiceAnswer, behaviour: Behaviour): Generator<ChoiceDelta> {
  if (choice.calls.length === 0) return;
  const quirks = behaviour.toolQuirk ?? [];
  if (quirks.includes('empty-content-first')) yield silent({ content: '' });
  const ideal = fragmentsOf(choice.calls, behaviour.deltaTokens ?? 3);
  const bent = quirks.reduce((chunks, quirk) => bendFragments(chunks, choice.calls, quirk), ideal);
  for (const chunk of quirks.includes('rest-in-finish') ? lastPiecesJoined(bent) : bent) {
    yield { ...silent({ tool_calls: chunk.fragments }), tokens: chunk.tokens };
  }
}

/** The pieces after the last head as one chunk, for the finish to ride on. */
function lastPiecesJoined(chunks: readonly FragmentChunk[]): readonly FragmentChunk[] {
  const lastHead = chunks.findLastIndex((chunk) => chunk.head);
  const rest = chunks.slice(lastHead + 1);
  const [first] = rest;
  if (first === undefined) return chunks;
  const text = rest.map((chunk) => stringOr(chunk.fragments[0]?.function?.arguments, '')).join('');
  const tokens = rest.reduce((sum, chunk) => sum + chunk.tokens, 0);
  const fragments = first.fragments.map((one) => ({ ...one, function: { ...one.function, arguments: text } }));
  return [...chunks.slice(0, lastHead + 1), { ...first, fragments, tokens }];
}

function joined(left: ChoiceDelta, right: ChoiceDelta): ChoiceDelta {
  return {
    delta: mergeFields(left.delta, right.delta),
    spoken: left.spoken + right.spoken,
    tokens: left.tokens + right.tokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
  };
}
