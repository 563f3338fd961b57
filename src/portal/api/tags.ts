import { z } from 'zod';
import { listBounds } from '../../core/limits.ts';
import { tagForm } from '../../core/tags.ts';
import { budgetThresholds, givenThresholds } from './alerts.ts';
import { givenBudget, keyBudget } from './account-shapes.ts';
import { pageOf, usd } from './values.ts';

const tag = z
  .string()
  .meta({ description: `A tag of requests (\`x-weir-tags\`): ${tagForm}.`, example: 'team=search' });

const tagName = z
  .object({
    name: z.string().meta({ example: 'team' }),
    values: z.int().min(0).meta({ description: 'How many values requests or budgets have.', example: 12 }),
  })
  .meta({ id: 'TagName', description: `The name of a tag. A request has at most ${listBounds.maxRequestTags} tags.` });

/** `GET /tags`. */
export const tagNamesQuery = z.object({
  workspace: z.string().optional().meta({ description: 'Only those of this workspace, by id or name.' }),
});
export const tagNames = pageOf(tagName, { id: 'TagNameList', of: 'names of tags' });
export type TagNamesObject = z.infer<typeof tagNames>;

const tagBudget = z
  .object({
    tag,
    budget: keyBudget,
    spent: usd.meta({ description: 'Spent in the current period on requests with the tag.' }),
    thresholds: budgetThresholds,
  })
  .meta({ id: 'TagBudget', description: 'Maximum spend in a period on the requests with a tag.' });
export type TagBudgetObject = z.infer<typeof tagBudget>;

/** `GET` and `POST /workspaces/{id}/tag-budgets`. */
export const tagBudgets = pageOf(tagBudget, { id: 'TagBudgetList', of: 'budgets of tags' });

export const newTagBudget = z
  .strictObject({
    tag,
    budget: givenBudget.nullable().meta({ description: 'Null takes the budget away.' }),
    thresholds: givenThresholds.optional(),
  })
  .meta({ id: 'NewTagBudget', description: 'A budget of a tag, or none.' });
export type NewTagBudgetObject = z.input<typeof newTagBudget>;
