import { useState } from 'react';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import type { CreatedKeyObject } from '../../../src/portal/api/keys.ts';
import { codeOf, firstRequest } from '../data/chat-code.ts';
import { agentExamplesOf, keyMessage } from '../data/key-code.ts';
import { useModels } from '../data/models.ts';
import { useGatewayUrl, useSession } from '../data/session.ts';
import { formatMoney, formatPeriod, formatUtcMoment } from '../format/format.ts';
import { CodeTabs } from '../parts/code-tabs.tsx';
import { Copy } from '../parts/copy.tsx';
import { optionsOf, Select } from '../parts/fields.tsx';
import { Facts } from '../parts/page.tsx';
import { SecretPanel } from '../parts/secret-panel.tsx';
import { Notice } from '../parts/states.tsx';
import { KeyTest } from './key-test.tsx';

interface KeyCardProps {
  readonly created: CreatedKeyObject;
  readonly onDone: () => void;
}

/** A new key with what its owner needs: address, limits, programs that call it, and a first call. */
export function KeyCard({ created, onDone }: KeyCardProps) {
  const url = useGatewayUrl();
  const { gateway_url: known } = useSession();
  const { budget, expires_at: expires, models } = created;
  const facts = {
    models: models === null ? 'All of the catalog' : models.join(', '),
    budget: budget === null ? 'None' : `${formatMoney(budget.limit)} ${formatPeriod(budget.period)}`,
    expires: expires === null ? 'Never' : formatUtcMoment(expires),
  };
  return (
    <SecretPanel
      title={created.name === null ? 'Key created' : `Key “${created.name}” created`}
      hint="Copy it now: it is shown this once. Only its hash is stored."
      label="API key"
      secret={created.key}
      actions={<Copy text={keyMessage({ url, key: created.key, ...facts })} word="Copy as message" />}
      onDone={onDone}
    >
      {known === null && (
        <Notice tone="warn">
          The base URL is a placeholder: an admin must set WEIR_PUBLIC_URL, or portal.publicUrl in the chart.
        </Notice>
      )}
      <Facts
        facts={[
          { name: 'Base URL', value: <code>{url}</code> },
          { name: 'Models', value: facts.models },
          { name: 'Budget', value: facts.budget },
          { name: 'Expires', value: facts.expires },
        ]}
      />
      <FirstCall key={created.id} created={created} />
    </SecretPanel>
  );
}

/** Programs that call one of the key's models, and a call from here. */
function FirstCall({ created }: { readonly created: CreatedKeyObject }) {
  const url = useGatewayUrl();
  const { gateway_url: known } = useSession();
  const callable = useCallable(created.models);
  const [wanted, setWanted] = useState('');
  const model = callable.find(({ id }) => id === wanted) ?? callable[0];
  if (model === undefined) return null;
  const gateway = { url, key: created.key };
  return (
    <>
      <div className="form-grid">
        <Select label="Model" value={model.id} onChange={setWanted} options={optionsOf(callable.map(({ id }) => id))} />
      </div>
      <CodeTabs
        of={model.id}
        examples={[...codeOf(firstRequest(model), gateway), ...agentExamplesOf(model, gateway)]}
        isSecret
      />
      {known !== null && <KeyTest key={model.id} of={created} model={model} />}
    </>
  );
}

/** The listed models that a key may call, by id or as `org/*`: those that agents can use first, then others that answer in words. */
function useCallable(allowed: readonly string[] | null): readonly ModelObject[] {
  const all = useModels().data?.data ?? [];
  const isAllowed = (id: string): boolean =>
    allowed === null || [id, id.replace(/\/.*/, '/*')].some((name) => allowed.includes(name));
  const callable = all.filter(({ id, listed, kind }) => listed && kind !== 'rerank' && isAllowed(id));
  const rank = ({ kind, tools }: ModelObject): number => (kind !== 'chat' ? 2 : tools ? 0 : 1);
  return callable.toSorted((a, b) => rank(a) - rank(b));
}
