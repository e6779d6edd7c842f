"""What lies in a user's repository: servers, client configurations, CI."""
