import { useMutation } from '@tanstack/react-query';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import type { CreatedKeyObject } from '../../../src/portal/api/keys.ts';
import { ApiError } from '../data/api.ts';
import { ask, type ChatAnswer } from '../data/chat.ts';
import { chatRequest } from '../data/chat-request.ts';
import { formatMoney, formatMs, orUnknown } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { Facts } from '../parts/page.tsx';
import { Notice } from '../parts/states.tsx';

const question = { text: 'Say hello in one short sentence.', images: [] };
/** Enough for a model that reasons first, at a bounded cost. */
const maxTokens = 500;

const testMs = 60_000;

/** What to do about an answer of the gateway, by its HTTP status. */
const remedies: Readonly<Record<number, string>> = {
  400: 'Choose another model, or edit the models of the key.',
  401: 'The key was revoked, suspended or has expired. See its status in the list.',
  402: 'Add credit on the page Balance, or raise the budget of the key.',
  403: 'The workspace is suspended, or the key may not call this. An admin can change both.',
  404: 'Choose another model, or edit the models of the key.',
  429: 'A limit of the key or of its workspace is reached. Wait a moment, or raise the limit.',
  502: 'No Backend answered. The page Overview shows what is wrong.',
  503: 'No Backend answered. The page Overview shows what is wrong.',
};

interface KeyTestProps {
  readonly of: CreatedKeyObject;
  readonly model: ModelObject;
}

/** One call with a new key. Shows the answer and its cost, or why it failed and what to do. */
export function KeyTest({ of, model }: KeyTestProps) {
  const test = useMutation({ mutationFn: () => callOnce(of, model.id) });
  return (
    <div className="stack-tight">
      <div className="actions">
        <Button isDisabled={test.isPending} onPress={() => test.mutate()}>
          Test it
        </Button>
        <span className="hint">One call of {model.id} with this key. It is billed.</span>
      </div>
      <div role="status" className="stack-tight">
        {test.isPending && <p className="muted">Waiting for the answer.</p>}
        {test.data !== undefined && <Passed answer={test.data} />}
      </div>
      {test.error !== null && <Failed error={test.error} />}
    </div>
  );
}

async function callOnce({ workspace_id: workspace, key }: CreatedKeyObject, model: string): Promise<ChatAnswer> {
  const settings = { maxTokens, system: undefined, temperature: undefined, stops: undefined, effort: undefined };
  const request = chatRequest({ model, settings: { ...settings, tools: undefined }, past: [], question });
  return ask(request, { workspace, ownKey: key, signal: AbortSignal.timeout(testMs), onAnswer: () => {} });
}

function Passed({ answer: { text, usage, firstTokenMs } }: { readonly answer: ChatAnswer }) {
  return (
    <Notice tone="good">
      <p>
        <strong>The key works.</strong> {text}
      </p>
      <Facts
        facts={[
          { name: 'Cost', value: orUnknown(usage?.cost, formatMoney) },
          { name: 'Time to first token', value: orUnknown(firstTokenMs, formatMs) },
        ]}
      />
    </Notice>
  );
}

function Failed({ error }: { readonly error: Error }) {
  const remedy = error instanceof ApiError ? remedies[error.status] : undefined;
  const isLate = error.name === 'TimeoutError';
  return (
    <Notice tone="bad">
      <p>
        <strong>The call failed.</strong> {isLate ? 'No whole answer came within a minute.' : error.message}
      </p>
      {(remedy !== undefined || isLate) && <p>{remedy ?? remedies[503]}</p>}
    </Notice>
  );
}
