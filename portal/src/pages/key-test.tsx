import { useMutation } from '@tanstack/react-query';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import type { CreatedKeyObject } from '../../../src/portal/api/keys.ts';
import { ApiError, randomId } from '../data/api.ts';
import { ask, type ChatUsage, type PlaygroundCall } from '../data/chat.ts';
import { chatRequest } from '../data/chat-request.ts';
import { vectorsOf } from '../data/vectors.ts';
import { formatCount } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { Notice } from '../parts/states.tsx';
import { ServedFacts } from './served-facts.tsx';

const question = { text: 'Say hello in one short sentence.', images: [] };
/** Enough for a model that reasons first, at a bounded cost. */
const maxTokens = 500;

const testMs = 60_000;

const addMoney = 'Add credit on the page Balance, or raise the key budget.';
const seeProblems = 'No Backend answered. The page Overview shows what is wrong.';
const otherModel = 'Choose another model, or edit the key’s models.';
/** What to do about an answer of the gateway, by its HTTP status. */
const remedies: Readonly<Record<number, string>> = {
  ...{ 400: otherModel, 404: otherModel, 402: addMoney, 502: seeProblems, 503: seeProblems },
  401: 'The key was revoked, suspended or has expired. See its status in the list.',
  403: 'The workspace is suspended, or the key may not call this. An admin can change both.',
  429: 'A limit of the key or of its workspace is reached. Wait a moment, or raise the limit.',
};

interface KeyTestProps {
  readonly of: CreatedKeyObject;
  readonly model: ModelObject;
}

/** One call with a new key. Shows the answer and its cost, or why it failed and what to do. */
export function KeyTest({ of, model }: KeyTestProps) {
  const test = useMutation({ mutationFn: () => callOnce(of, model) });
  return (
    <div className="stack-tight">
      <div className="actions">
        <Button isDisabled={test.isPending} onPress={() => test.mutate()}>
          Test it
        </Button>
        <span className="small muted">One call of {model.id} with this key. It is billed.</span>
      </div>
      <div role="status" className="stack-tight">
        {test.isPending && <p className="muted">Waiting for the answer.</p>}
        {test.data !== undefined && <Passed of={test.data} />}
      </div>
      {test.error !== null && <Failed error={test.error} />}
    </div>
  );
}

interface PassedTest {
  readonly requestId: string;
  readonly text: string;
  readonly usage?: ChatUsage | undefined;
}

async function callOnce(
  { workspace_id: workspace, key: ownKey }: CreatedKeyObject,
  { id: model, kind }: ModelObject,
): Promise<PassedTest> {
  const how: PlaygroundCall = { workspace, ownKey, requestId: randomId(), signal: AbortSignal.timeout(testMs) };
  if (kind === 'embedding') {
    const [vector = []] = await vectorsOf({ model, texts: [question.text] }, how);
    return { requestId: how.requestId, text: `The answer is a vector of ${formatCount(vector.length)} numbers.` };
  }
  const request = chatRequest({ model, settings: { maxTokens }, past: [], question });
  const { text, usage } = await ask(request, { ...how, onAnswer: () => {} });
  return { requestId: how.requestId, text, usage };
}

function Passed({ of: { requestId, text, usage } }: { readonly of: PassedTest }) {
  return (
    <Notice tone="good">
      <p>
        <strong>The key works.</strong> {text}
      </p>
      <ServedFacts requestId={requestId} hasEnded usage={usage} of={usage === undefined ? 'vectors' : 'answer'} />
    </Notice>
  );
}

function Failed({ error }: { readonly error: Error }) {
  const isLate = error.name === 'TimeoutError';
  return (
    <Notice tone="bad">
      <p>
        <strong>The call failed.</strong> {isLate ? 'No whole answer came within a minute.' : error.message}
      </p>
      <p>{isLate ? seeProblems : error instanceof ApiError && remedies[error.status]}</p>
    </Notice>
  );
}
