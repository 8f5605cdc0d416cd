#!/usr/bin/env bash
# Puts the report on the pull request: replaces the comment that this token made before, or makes the first one.
# In: STENO_ACTION_{REPORT,REPOSITORY,PULL_REQUEST}, GH_TOKEN (for gh). A comment that cannot be written is a warning.
set -euo pipefail

repository="$STENO_ACTION_REPOSITORY"
number="$STENO_ACTION_PULL_REQUEST"
case "$number" in
'' | *[!0-9]*)
    echo "::warning title=Steno::this is no pull request: there is nothing to comment on"
    exit 0
    ;;
esac

# Only what this token wrote itself: anybody may write a comment that begins like ours.
# shellcheck disable=SC2016  # the variables are GraphQL's
query='query($owner: String!, $name: String!, $number: Int!, $endCursor: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      comments(first: 100, after: $endCursor) {
        nodes { databaseId body viewerDidAuthor }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}'
ours='.data.repository.pullRequest.comments.nodes[]
  | select(.viewerDidAuthor and (.body | startswith("<!-- steno:report -->"))) | .databaseId'

cannot() {
    echo "::warning title=Steno::the comment could not be written; \`permissions: pull-requests: write\` is needed, which pull requests from forks do not have"
    exit 0
}

found="$(gh api graphql --paginate -f query="$query" -f owner="${repository%%/*}" -f name="${repository#*/}" \
    -F number="$number" --jq "$ours")" || cannot
comment="${found%%$'\n'*}"
if [ -n "$comment" ]; then
    gh api --silent --method PATCH "repos/$repository/issues/comments/$comment" -F body=@"$STENO_ACTION_REPORT" || cannot
else
    gh api --silent --method POST "repos/$repository/issues/$number/comments" -F body=@"$STENO_ACTION_REPORT" || cannot
fi
